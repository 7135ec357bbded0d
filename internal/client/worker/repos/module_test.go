package repos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A submodule's address is text of the repository: it leads nowhere but to the origin's host,
// or where the worker is set to allow it.
func TestWhereSubmodulesAreFetchedFrom(t *testing.T) {
	const (
		https = "https://git.example/team/ledger.git"
		ssh   = "git@git.example:team/ledger.git"
		local = "/srv/git/ledger.git"
	)
	for name, c := range map[string]struct{ said, origin, want, refused string }{
		"beside":                    {"../dep.git", https, "https://git.example/team/dep.git", ""},
		"two up":                    {"../../other/dep.git", https, "https://git.example/other/dep.git", ""},
		"above the host":            {"../../../../../evil.example/dep.git", https, "https://git.example/evil.example/dep.git", ""},
		"below":                     {"./dep.git", https, "https://git.example/team/ledger.git/dep.git", ""},
		"beside by ssh":             {"../dep.git", ssh, "git@git.example:team/dep.git", ""},
		"above by ssh":              {"../../../dep.git", ssh, "git@git.example:dep.git", ""},
		"beside on this host":       {"../dep.git", local, "/srv/git/dep.git", ""},
		"the same host":             {"https://GIT.example/x/dep.git", https, "https://GIT.example/x/dep.git", ""},
		"the same host by ssh":      {"ssh://git@git.example/x", https, "ssh://git@git.example/x", ""},
		"an allowed host":           {"https://lib.example/x", https, "https://lib.example/x", ""},
		"another host":              {"https://evil.example/x", https, "", "evil.example is not the origin's host"},
		"another port":              {"https://git.example:8443/x", https, "", "git.example:8443"},
		"a host that looks alike":   {"https://git.example.evil.example/x", https, "", "evil.example"},
		"a user that looks alike":   {"https://git.example@evil.example/x", https, "", "evil.example"},
		"without TLS":               {"http://git.example/x", https, "", "not beside"},
		"an allowed one without":    {"http://lib.example/x", https, "", "not beside"},
		"a path from a host":        {"/home/mara/private", https, "", "not beside"},
		"a file from a host":        {"file:///home/mara/private", https, "", "not beside"},
		"a path elsewhere":          {"/home/mara/private", local, "", "not beside"},
		"a path up and down":        {"/srv/git/../../home/mara", local, "", "not beside"},
		"a path that looks alike":   {"/srv/git-private/x", local, "", "not beside"},
		"a host from a path":        {"https://git.example/x", local, "", "is not the origin's host"},
		"a program":                 {"ext::sh -c id", https, "", "no address"},
		"another transport":         {"evil::https://git.example/x", https, "", "no address"},
		"git's own, without a key":  {"git://git.example/x", https, "", "no address"},
		"an option":                 {"--upload-pack=id", https, "", "no address"},
		"an option for ssh":         {"ssh://-oProxyCommand=id/x", https, "", "no address"},
		"an option for ssh, short":  {"-oProxyCommand=id:x", https, "", "no address"},
		"two lines":                 {"https://git.example/x\nhttps://evil.example", https, "", "no address"},
		"nothing":                   {"", https, "", "no address"},
		"relative, without origin":  {"../dep.git", "", "", "has no origin"},
		"a name in the work tree":   {"dep.git", https, "", "no address"},
		"a file of a remote host":   {"file://evil.example/x", local, "", "no address"},
		"a backslash in the host":   {"https://git.example\\@evil.example/x", https, "", "no address"},
		"a percent in the host":     {"https://git.example%2f@evil.example/x", https, "", "evil.example"},
		"the origin's own ancestor": {"/srv/git", local, "", "not beside"},
	} {
		m := &mirror{dir: t.TempDir(), source: source{name: "ledger", person: person{origin: c.origin}}}
		got, foreign, err := m.moduleAddress(t.Context(), c.said, []string{"lib.example"})
		switch {
		case c.refused == "" && (err != nil || got != c.want):
			t.Errorf("%s: %q, %v", name, got, err)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %q, %v", name, got, err)
		case foreign != (name == "an allowed host"):
			t.Errorf("%s: it is foreign: %v", name, foreign)
		}
	}
}

// What the person's git makes of an address counts: one that is rewritten to another host is
// fetched from there only where that is allowed.
func TestARewrittenAddressIsJudgedByWhereItLeads(t *testing.T) {
	rewrites := []setting{{"url.https://evil.example/.insteadOf", "https://git.example/x/"}}
	m := &mirror{dir: t.TempDir(), source: source{person: person{origin: "https://git.example/team/ledger.git", settings: rewrites}}}
	if got, _, err := m.moduleAddress(t.Context(), "https://git.example/x/dep.git", nil); err == nil {
		t.Errorf("it is fetched from %s", got)
	}
}

// A host that is allowed beside the origin's gets nothing that proves who the person is.
func TestOthersGetNoCredentials(t *testing.T) {
	all := []setting{{"http.extraheader", "Authorization: secret"}, {"http.https://git.example/.extraheader", "Authorization: secret"},
		{"http.cookiefile", "c"}, {"http.sslkey", "k"}, {"http.proxy", "p"}, {"credential.helper", "store"}}
	var kept []string
	for _, s := range forOthers(all) {
		kept = append(kept, s.key)
	}
	if got := strings.Join(kept, " "); got != "http.https://git.example/.extraheader http.proxy credential.helper" {
		t.Errorf("others get %s", got)
	}
}

// A submodule that brings too much is ended, and the attempt goes on without it.
func TestASubmoduleIsBounded(t *testing.T) {
	r, at, origin := withOrigin(t)
	dep := filepath.Join(filepath.Dir(origin), "dep.git")
	inner := repository(t, t.TempDir(), "dep")
	gitIn(t, filepath.Dir(origin), "clone", "-q", "--bare", inner, dep)
	for n := range maxModules + 2 {
		gitIn(t, at, "update-index", "--add", "--cacheinfo", "160000,"+gitIn(t, inner, "rev-parse", "HEAD")+",deps/"+string(rune('a'+n/26))+string(rune('a'+n%26)))
		gitIn(t, at, "config", "--file", ".gitmodules", "submodule."+string(rune('a'+n/26))+string(rune('a'+n%26))+".path", "deps/"+string(rune('a'+n/26))+string(rune('a'+n%26)))
		gitIn(t, at, "config", "--file", ".gitmodules", "submodule."+string(rune('a'+n/26))+string(rune('a'+n%26))+".url", "../dep.git")
	}
	gitIn(t, at, "add", ".gitmodules")
	gitIn(t, at, "commit", "-q", "-m", "Many")
	gitIn(t, at, "push", "-q", "origin", "main")
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	if text, err := os.ReadFile(filepath.Join(w.Dir, "deps", "aa", "README.md")); err != nil || string(text) != "# dep\n" {
		t.Errorf("the first has %q: %v", text, err)
	}
	said := strings.Join(w.Notes, "\n")
	if strings.Count(said, "at most 64 submodules") != 2 {
		t.Errorf("it says\n%s", said)
	}
	if did := gc(t, r, GCOptions{}); strings.Contains(did, "submodule") {
		t.Errorf("while an attempt borrows from it gc removes\n%s", did)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan := gc(t, r, GCOptions{DryRun: true})
	if did := gc(t, r, GCOptions{}); did != plan || !strings.Contains(did, "submodule ") {
		t.Errorf("planned:\n%s\ndone:\n%s", plan, did)
	}
}

// What a host's settings name as commands of Git LFS is not run.
func TestFiltersAreTheWorkersOwn(t *testing.T) {
	list := strings.Join([]string{"filter.lfs.clean\n/tmp/evil %f", "filter.lfs.process\ngit-lfs filter-process --skip", "filter.lfs.required\nfalse",
		"lfs.extension.evil.clean\n/tmp/evil", "lfs.customtransfer.evil.path\n/tmp/evil", "lfs.https://x.standalonetransferagent\nevil",
		"lfs.standalonetransferagent\nevil", "filter.other.clean\n/tmp/evil", "lfs.concurrenttransfers\n3"}, "\x00")
	var got []string
	for _, s := range readPerson([]byte(list), "/").settings {
		got = append(got, s.key+"="+s.value)
	}
	want := "filter.lfs.clean=git-lfs clean -- %f, filter.lfs.process=git-lfs filter-process --skip, filter.lfs.required=true, lfs.concurrenttransfers=3"
	if strings.Join(got, ", ") != want {
		t.Errorf("it takes over %q", got)
	}
}
