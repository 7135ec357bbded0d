// Package forgetest is a forge for tests: the calls of Gitea's and of GitHub's REST that the
// worker makes, with their paths, statuses and fields, over a bare repository that is served
// by git itself.
package forgetest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Token is what the forge lets in.
const Token = "f0rge-t0ken-of-tests"

// Owner has the repository.
const Owner = "team"

// Server is a forge with one repository.
type Server struct {
	t    *testing.T
	URL  string
	Name string // of the repository
	bare string

	mu       sync.Mutex
	pulls    []*pull
	statuses map[string]map[string]string // states by commit and name
	wanted   int                          // reviews
	refusals []Refusal
}

// pull is a pull request. Its head follows its branch until it has ended.
type pull struct {
	number                    int
	title, body, branch, base string
	head, mergedAs            string
	closed                    bool
	approvals                 int
}

// Refusal is an answer to one call.
type Refusal struct {
	Status int
	Header map[string]string
	Body   string
}

// NewGitea serves a bare repository as Gitea does.
func NewGitea(t *testing.T, bare string) *Server { return serve(t, bare, (*Server).gitea) }

// NewGitHub serves a bare repository as GitHub Enterprise does.
func NewGitHub(t *testing.T, bare string) *Server { return serve(t, bare, (*Server).gitHub) }

func serve(t *testing.T, bare string, api func(*Server, *http.ServeMux)) *Server {
	t.Helper()
	s := &Server{t: t, bare: bare, Name: strings.TrimSuffix(filepath.Base(bare), ".git"), statuses: map[string]map[string]string{}}
	s.git("config", "http.receivepack", "true")
	mux := http.NewServeMux()
	api(s, mux)
	backend := filepath.Join(s.git("--exec-path"), "git-http-backend")
	mux.Handle("/"+Owner+"/", &cgi.Handler{Path: backend, Root: "/" + Owner,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1"}})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Origin returns the address to clone from.
func (s *Server) Origin() string { return s.URL + "/" + Owner + "/" + filepath.Base(s.bare) }

// SetStatus says what a check of a commit found: pending, success, failure.
func (s *Server) SetStatus(commit, name, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.statuses[commit] == nil {
		s.statuses[commit] = map[string]string{}
	}
	s.statuses[commit][name] = state
}

// WantReviews has the forge merge nothing that fewer people have approved.
func (s *Server) WantReviews(n int) { s.mu.Lock(); defer s.mu.Unlock(); s.wanted = n }

// Approve is a review.
func (s *Server) Approve(number int) { s.with(number, func(p *pull) { p.approvals++ }) }

// Close closes a pull request as a person does.
func (s *Server) Close(number int) { s.with(number, func(p *pull) { p.closed = true }) }

// Merge merges as a person does.
func (s *Server) Merge(number int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pulls[number-1]
	s.look(p)
	return s.merge(p)
}

func (s *Server) with(number int, do func(*pull)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.pulls[number-1])
}

// Refuse has the next calls of the API answered so, one each.
func (s *Server) Refuse(next ...Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, next...)
}

// Texts returns the titles and bodies of the pull requests.
func (s *Server) Texts() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pulls {
		all = append(all, p.title+"\n"+p.body)
	}
	return all
}

// Branches returns those that pull requests were opened from.
func (s *Server) Branches() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pulls {
		all = append(all, p.branch)
	}
	return all
}

// handle adds a call of the API, of which one runs at a time.
func (s *Server) handle(mux *http.ServeMux, scheme, pattern string, do func(w http.ResponseWriter, r *http.Request)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.refusals) > 0 {
			next := s.refusals[0]
			s.refusals = s.refusals[1:]
			for name, value := range next.Header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(next.Status)
			_, _ = w.Write([]byte(next.Body))
			return
		}
		if r.Header.Get("Authorization") != scheme+" "+Token {
			answer(w, http.StatusUnauthorized, map[string]string{"message": "Bad credentials"})
			return
		}
		if r.PathValue("owner") != Owner || r.PathValue("repo") != s.Name {
			answer(w, http.StatusNotFound, map[string]string{"message": "Not Found"})
			return
		}
		do(w, r)
	})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body)
	}
}

// git runs git in the repository.
func (s *Server) git(args ...string) string {
	s.t.Helper()
	out, err := s.tryGit(args...)
	if err != nil {
		s.t.Errorf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s *Server) tryGit(args ...string) (string, error) {
	cmd := exec.CommandContext(s.t.Context(), "git",
		append([]string{"-c", "user.name=Forge", "-c", "user.email=forge@kestrel.example"}, args...)...)
	cmd.Dir = s.bare
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// branch returns the commit of a branch, "" where there is none.
func (s *Server) branch(name string) string {
	commit, err := s.tryGit("rev-parse", "--verify", "--quiet", "refs/heads/"+name)
	if err != nil {
		return ""
	}
	return commit
}

// openFrom returns the open pull request of two branches, nil for none.
func (s *Server) openFrom(head, base string) *pull {
	for _, p := range s.pulls {
		if p.branch == head && p.base == base && !p.closed && p.mergedAs == "" {
			return p
		}
	}
	return nil
}

func (s *Server) open(title, body, head, base string) *pull {
	p := &pull{number: len(s.pulls) + 1, title: title, body: body, branch: head, base: base}
	s.pulls = append(s.pulls, p)
	s.look(p)
	return p
}

// look brings a pull request up to date with its branches: one whose commits are in the
// base is merged.
func (s *Server) look(p *pull) {
	if p.closed || p.mergedAs != "" {
		return
	}
	p.head = s.branch(p.branch)
	if _, err := s.tryGit("merge-base", "--is-ancestor", p.head, s.branch(p.base)); err == nil {
		p.mergedAs = p.head
	}
}

// fits reports whether it can be merged without a conflict.
func (s *Server) fits(p *pull) bool {
	_, err := s.tryGit("merge-tree", "--write-tree", s.branch(p.base), p.head)
	return err == nil
}

// merge makes a merge commit.
func (s *Server) merge(p *pull) string {
	base := s.branch(p.base)
	tree := strings.Fields(s.git("merge-tree", "--write-tree", base, p.head))[0]
	p.mergedAs = s.git("commit-tree", tree, "-p", base, "-p", p.head, "-m", "Merge pull request: "+p.title)
	s.git("update-ref", "refs/heads/"+p.base, p.mergedAs, base)
	return p.mergedAs
}

// state returns the sum of a commit's checks.
func (s *Server) state(commit string) string {
	states := slices.Collect(maps.Values(s.statuses[commit]))
	switch {
	case slices.Contains(states, "failure"):
		return "failure"
	case len(states) == 0 || slices.Contains(states, "pending"):
		return "pending"
	}
	return "success"
}
