package forge

import (
	"strings"
	"testing"
)

// env has one token a kind.
func env(name string) string {
	return map[string]string{"GITHUB_TOKEN": "hub", "GITEA_TOKEN": " tea\n"}[name]
}

// An origin's address gives the forge, the owner and the name.
func TestOrigins(t *testing.T) {
	known, err := Known([]string{"gitea=https://git.example:3000/", "forgejo=https://code.example/git"}, env)
	if err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[string]string{
		"https://github.com/kestrel/ledger":                 "hub https://github.com kestrel ledger",
		"https://github.com/kestrel/ledger.git":             "hub https://github.com kestrel ledger",
		"https://GitHub.com/kestrel/ledger/":                "hub https://github.com kestrel ledger",
		"https://mara:secret@github.com/kestrel/ledger.git": "hub https://github.com kestrel ledger",
		"git@github.com:kestrel/ledger.git":                 "hub https://github.com kestrel ledger",
		"github.com:kestrel/ledger":                         "hub https://github.com kestrel ledger",
		"ssh://git@github.com/kestrel/ledger.git":           "hub https://github.com kestrel ledger",
		"https://git.example:3000/kestrel/ledger.git":       "tea https://git.example:3000 kestrel ledger",
		"ssh://git@git.example:2222/kestrel/ledger.git":     "tea https://git.example:3000 kestrel ledger",
		"git@git.example:kestrel/ledger.core.git":           "tea https://git.example:3000 kestrel ledger.core",
		"https://code.example/git/kestrel/ledger":           "tea https://code.example/git kestrel ledger",
		"https://code.example/kestrel/ledger":               "",
		"https://git.example/kestrel/ledger":                "", // another port
		"https://github.com.evil.example/kestrel/ledger":    "",
		"https://github.com/ledger":                         "",
		"https://github.com/kestrel/team/ledger":            "",
		"https://gitlab.com/kestrel/ledger":                 "",
		"file:///srv/github.com/kestrel/ledger":             "",
		"/srv/github.com/kestrel/ledger":                    "",
		"/srv/a:b/c":                                        "",
		"":                                                  "",
	} {
		p, repo, ok := known.find(origin)
		got := ""
		if ok {
			got = strings.Join([]string{p.token, p.at.String(), repo.Owner, repo.Name}, " ")
		}
		if got != want {
			t.Errorf("%q is %q, want %q", origin, got, want)
		}
	}
}

// Who names a place of GitHub means its token for that place alone.
func TestATokenIsForThePlaceThatIsNamed(t *testing.T) {
	known, err := Known([]string{"github=https://github.kestrel.example"}, env)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := known.Of("https://github.com/kestrel/ledger"); err == nil || !strings.Contains(err.Error(), "--forge") {
		t.Errorf("github.com is asked: %v", err)
	}
	if _, repo, err := known.Of("git@github.kestrel.example:kestrel/ledger.git"); err != nil || repo != (Repo{"kestrel", "ledger"}) {
		t.Errorf("the repository is %v, %v", repo, err)
	}
}

func TestForgesThatAreNamedBadly(t *testing.T) {
	for _, named := range []string{"", "github", "gitlab=https://gitlab.com", "gitea=git.example", "gitea=ftp://git.example",
		"gitea=https://mara:secret@git.example", "gitea=https://"} {
		if _, err := Known([]string{named}, env); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q gives %v", named, err)
		}
	}
	none := func(string) string { return "" }
	known, err := Known([]string{"gitea=https://git.example"}, none)
	if err != nil || known.Ready() {
		t.Errorf("without a token it is ready; %v", err)
	}
	if _, _, err := known.Of("https://git.example/a/b"); err == nil || !strings.Contains(err.Error(), "GITEA_TOKEN") {
		t.Errorf("the missing token is not named: %v", err)
	}
}
