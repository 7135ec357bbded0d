//go:build agents

package factory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// gitea is a real one, with the users mara, who has the repository, and priya.
type gitea struct {
	s      *serverAndRepos
	url    string
	tokens map[string]string
}

// newGitea starts one on files of its own, and moves the repository of the server there.
func newGitea(s *serverAndRepos) *gitea {
	s.t.Helper()
	at, err := filepath.Abs("../../.tools/gitea")
	if err != nil {
		s.t.Fatal(err)
	}
	address, dir := processtest.FreeAddress(s.t, firstPort), filepath.Join(s.dir, "gitea")
	g := &gitea{s: s, url: "http://" + address, tokens: map[string]string{}}
	host, port, _ := strings.Cut(address, ":")
	file := filepath.Join(dir, "app.ini")
	settings := fmt.Sprintf(`WORK_PATH = %[1]s
RUN_MODE = prod
[server]
HTTP_ADDR = %[2]s
HTTP_PORT = %[3]s
ROOT_URL = %[4]s/
STATIC_ROOT_PATH = %[5]s
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
[security]
INSTALL_LOCK = true
[log]
LEVEL = Warn
`, dir, host, port, g.url, at)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		s.t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT=true"}
	run := func(args ...string) string {
		cmd := exec.CommandContext(s.t.Context(), filepath.Join(at, "gitea"), append([]string{"--config", file}, args...)...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			s.t.Fatalf("gitea %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("migrate")
	for _, name := range []string{"mara", "priya"} {
		run("admin", "user", "create", "--username", name, "--password", "quiet watch room 12", "--email", name+"@kestrel.example", "--must-change-password=false")
		said := strings.Fields(run("admin", "user", "generate-access-token", "--username", name, "--token-name", "test", "--scopes", "all", "--raw"))
		g.tokens[name] = said[len(said)-1]
	}
	p := &processtest.Process{T: s.t, Path: filepath.Join(at, "gitea"), Args: []string{"--config", file, "web"}, Env: env}
	p.Start()
	s.until("Gitea answers", func() bool { status, _ := g.try("mara", "GET", "/user", nil); return status == http.StatusOK })
	g.call("mara", "POST", "/user/repos", map[string]any{"name": "ledger", "private": true, "default_branch": "main"})
	g.call("mara", "PUT", "/repos/mara/ledger/collaborators/priya", map[string]any{"permission": "write"})
	s.git(s.clone("ledger"), "remote", "set-url", "origin", "http://mara:"+g.tokens["mara"]+"@"+address+"/mara/ledger.git")
	s.git(s.clone("ledger"), "push", "-q", "origin", "main")
	s.env = append(s.env, "GITEA_TOKEN="+g.tokens["mara"])
	return g
}

func (g *gitea) try(who, method, path string, body any) (status int, answer string) {
	g.s.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		g.s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, g.url+"/api/v1"+path, bytes.NewReader(raw))
	if err != nil {
		g.s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "token "+g.tokens[who])
	r.Header.Set("Content-Type", "application/json")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer got.Body.Close()
	said, _ := io.ReadAll(got.Body)
	return got.StatusCode, string(said)
}

// call makes a call of Gitea's API that must succeed.
func (g *gitea) call(who, method, path string, body any) {
	g.s.t.Helper()
	if status, said := g.try(who, method, path, body); status/100 != 2 {
		g.s.t.Fatalf("%s %s gives %d: %s", method, path, status, said)
	}
}

// pull returns what comes after the number in a pull request's path.
func (g *gitea) pull(url string) string {
	return "/repos/mara/ledger/pulls/" + url[strings.LastIndexByte(url, '/')+1:]
}

// A real Gitea merges as the tests' own does: after red and green checks, after a review,
// and as what people did; a conflict is found.
func TestARealGiteaMerges(t *testing.T) {
	s := newServerAndRepos(t)
	g := newGitea(s)
	w := s.worker("desk", forgeFlags("gitea", g.url)...)
	green := func(commit, state string) {
		g.call("mara", "POST", "/repos/mara/ledger/statuses/"+commit, map[string]string{"context": "ci/build", "state": state})
	}
	s.mergesByPullRequest(green)

	begin := func(name string, method api.MergeMethod) (merge, url string) {
		branch, commit := s.work(name, "work")
		green(commit, "success")
		return s.orderMerge(handed{by: api.MergeByPullRequest, method: method, title: name, commit: commit, branch: branch}), commit
	}
	merge, commit := begin("forward.txt", "fast_forward")
	if s.untilStatus(merge, api.JobStatusCompleted); s.tip() != commit {
		t.Errorf("main is %s, and %s was approved", s.tip(), commit)
	}

	g.call("mara", "POST", "/repos/mara/ledger/branch_protections", map[string]any{"rule_name": "main", "required_approvals": 1, "enable_push": true})
	merge, _ = begin("review.txt", "merge_commit")
	url := s.pullOf(merge)
	s.until("it waits for a review", func() bool { return strings.Contains(s.job(merge).CurrentStep, "approvals") })
	g.call("priya", "POST", g.pull(url)+"/reviews", map[string]string{"event": "APPROVED"})
	if j := s.untilStatus(merge, api.JobStatusCompleted); !strings.Contains(string(j.Result), s.tip()) {
		t.Errorf("main is %s, and the result is %s", s.tip(), j.Result)
	}

	merge, _ = begin("closed.txt", "merge_commit")
	g.call("mara", "PATCH", g.pull(s.pullOf(merge)), map[string]string{"state": "closed"})
	if j := s.untilStatus(merge, api.JobStatusFailed); !strings.Contains(j.LastError, "was closed") {
		t.Errorf("it failed as %s: %s", j.FailureKind, j.LastError)
	}

	merge, _ = begin("conflict.txt", "merge_commit")
	s.pullOf(merge)
	theirs, _ := s.work("conflict.txt", "theirs")
	s.git(filepath.Join(s.dir, "mara"+theirs), "push", "-q", "origin", theirs+":main")
	if j := s.untilStatus(merge, api.JobStatusFailed); j.FailureKind != "merge_conflict" || !strings.Contains(j.LastError, "conflict.txt") {
		t.Errorf("it failed as %s: %s", j.FailureKind, j.LastError)
	}
	if strings.Contains(w.Output(), g.tokens["mara"]) {
		t.Error("the token is in the worker's log")
	}
}
