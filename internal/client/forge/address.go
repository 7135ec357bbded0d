package forge

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Kinds of forges, as --forge names them. Forgejo speaks as Gitea does.
const (
	kindGitHub  = "github"
	kindGitea   = "gitea"
	kindForgejo = "forgejo"
)

// publicGitHub is known unless another place of GitHub is named, which its token is for.
const publicGitHub = "https://github.com"

// place is a forge that is known.
type place struct {
	kind  string
	at    *url.URL // without a slash at the end of its path
	token string
}

// Forges are those that are known.
type Forges struct{ all []place }

// Known reads forges as KIND=URL. Tokens are those of the environment: GITHUB_TOKEN and
// GITEA_TOKEN.
func Known(named []string, getenv func(string) string) (Forges, error) {
	var f Forges
	for _, one := range named {
		p, err := parsePlace(one)
		if err != nil {
			return Forges{}, err
		}
		f.all = append(f.all, p)
	}
	if !slices.ContainsFunc(f.all, func(p place) bool { return p.kind == kindGitHub }) {
		p, err := parsePlace(kindGitHub + "=" + publicGitHub)
		if err != nil {
			return Forges{}, err
		}
		f.all = append(f.all, p)
	}
	tokens := map[string]string{kindGitHub: getenv("GITHUB_TOKEN"), kindGitea: getenv("GITEA_TOKEN")}
	for i := range f.all {
		f.all[i].token = strings.TrimSpace(tokens[f.all[i].kind])
	}
	return f, nil
}

func parsePlace(text string) (place, error) {
	kind, address, _ := strings.Cut(text, "=")
	if kind == kindForgejo {
		kind = kindGitea
	}
	at, err := url.Parse(strings.TrimRight(address, "/"))
	if kind != kindGitHub && kind != kindGitea || err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" ||
		at.User != nil || at.RawQuery != "" || at.Fragment != "" {
		return place{}, errors.New("--forge must be github=URL, gitea=URL or forgejo=URL, such as gitea=https://git.example.com")
	}
	return place{kind: kind, at: at}, nil
}

// Ready reports whether there is a token for one of them.
func (f Forges) Ready() bool {
	return slices.ContainsFunc(f.all, func(p place) bool { return p.token != "" })
}

// Secrets returns the tokens.
func (f Forges) Secrets() (tokens []string) {
	for _, p := range f.all {
		if p.token != "" {
			tokens = append(tokens, p.token)
		}
	}
	return tokens
}

// Of returns the forge that a repository comes from, by the address of its origin, and what
// the repository is called there.
func (f Forges) Of(origin string) (Forge, Repo, error) {
	p, repo, ok := f.find(origin)
	switch {
	case !ok && origin == "":
		return nil, Repo{}, errors.New("the repository has no origin at a forge, so no pull request can be opened")
	case !ok:
		return nil, Repo{}, fmt.Errorf("%s is of no forge that this worker knows; name it with --forge KIND=URL", origin)
	case p.token == "":
		return nil, Repo{}, fmt.Errorf("this worker has no token for %s; set %s_TOKEN", p.at.Host, strings.ToUpper(p.kind))
	case p.kind == kindGitea:
		return newGitea(p), repo, nil
	}
	g, err := newGitHub(p)
	return g, repo, err
}

// find returns the place and the repository of an origin.
func (f Forges) find(origin string) (place, Repo, bool) {
	host, path, web := split(origin)
	for _, p := range f.all {
		inside := strings.Trim(path, "/")
		switch {
		case host == "" || web && !strings.EqualFold(host, p.at.Host) || !web && !strings.EqualFold(host, p.at.Hostname()):
			continue
		case web && p.at.Path != "":
			below, found := strings.CutPrefix("/"+inside, p.at.Path+"/")
			if !found {
				continue
			}
			inside = below
		}
		owner, name, _ := strings.Cut(strings.TrimSuffix(inside, ".git"), "/")
		if owner != "" && name != "" && !strings.Contains(name, "/") {
			return p, Repo{Owner: owner, Name: name}, true
		}
	}
	return place{}, Repo{}, false
}

// split takes an origin apart: https://host:port/path, ssh://git@host:port/path or
// git@host:path. The port of ssh is another one than that of the forge's pages, so only web
// addresses keep it.
func split(origin string) (host, path string, web bool) {
	if at, err := url.Parse(origin); err == nil && at.Host != "" {
		if at.Scheme == "https" || at.Scheme == "http" {
			return at.Host, at.Path, true
		}
		if at.Scheme == "ssh" || at.Scheme == "git+ssh" {
			return at.Hostname(), at.Path, false
		}
		return "", "", false
	}
	before, path, found := strings.Cut(origin, ":")
	if !found || strings.Contains(before, "/") {
		return "", "", false
	}
	if _, after, named := strings.Cut(before, "@"); named {
		before = after
	}
	return before, path, false
}
