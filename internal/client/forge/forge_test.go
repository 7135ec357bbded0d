package forge_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/forgetest"
	"github.com/fleetboard/fleetboard/internal/client/forge"
)

// kinds are the forges that there are.
var kinds = map[string]func(*testing.T, string) *forgetest.Server{"gitea": forgetest.NewGitea, "github": forgetest.NewGitHub}

// forgeRepo is a repository at a forge, with a branch "work" that changes a file.
type forgeRepo struct {
	*testing.T
	*forgetest.Server
	forge forge.Forge
	repo  forge.Repo
	clone string
	work  string // the commit
}

// eachForge runs a test at each.
func eachForge(t *testing.T, do func(d *forgeRepo)) {
	for kind, serve := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := &forgeRepo{T: t, clone: filepath.Join(dir, "clone")}
			if err := os.Mkdir(d.clone, 0o700); err != nil {
				t.Fatal(err)
			}
			d.git("init", "-q", "-b", "main")
			d.commit("README.md", "# Ledger")
			bare := filepath.Join(dir, "ledger.git")
			d.git("clone", "-q", "--bare", ".", bare)
			d.Server = serve(t, bare)
			d.git("remote", "add", "origin", d.Origin())
			d.work = d.branch("work", "a.txt", "work")
			d.forge, d.repo = d.known(kind, forgetest.Token)
			do(d)
		})
	}
}

// known returns the forge, with a token.
func (d *forgeRepo) known(kind, token string) (forge.Forge, forge.Repo) {
	d.Helper()
	all, err := forge.Known([]string{kind + "=" + d.URL}, func(string) string { return token })
	if err != nil {
		d.Fatal(err)
	}
	f, repo, err := all.Of(d.Origin())
	if err != nil {
		d.Fatal(err)
	}
	return f, repo
}

func (d *forgeRepo) git(args ...string) string {
	d.Helper()
	cmd := exec.CommandContext(d.Context(), "git", append([]string{"-c", "user.name=Mara", "-c", "user.email=mara@kestrel.example"}, args...)...)
	cmd.Dir = d.clone
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (d *forgeRepo) commit(file, text string) string {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.clone, file), []byte(text+"\n"), 0o600); err != nil {
		d.Fatal(err)
	}
	d.git("add", "-A")
	d.git("commit", "-q", "-m", text)
	return d.git("rev-parse", "HEAD")
}

// branch pushes a branch of main that writes a file.
func (d *forgeRepo) branch(name, file, text string) string {
	d.Helper()
	d.git("checkout", "-q", "-B", name, "main")
	commit := d.commit(file, text)
	d.git("push", "-q", "-f", "origin", name)
	return commit
}

// main pushes a commit of somebody else.
func (d *forgeRepo) main(file, text string) {
	d.Helper()
	d.git("checkout", "-q", "main")
	d.commit(file, text)
	d.git("push", "-q", "origin", "main")
}

func (d *forgeRepo) open() forge.PullRequest {
	d.Helper()
	p, err := d.forge.Open(d.Context(), forge.Request{Repo: d.repo, Head: "work", Base: "main", Title: "Add a", Body: "Fleetboard-Job: FB-1"})
	if err != nil {
		d.Fatal(err)
	}
	return p
}

func (d *forgeRepo) get(p forge.PullRequest) forge.PullRequest {
	d.Helper()
	p, err := d.forge.Get(d.Context(), d.repo, p.Number)
	if err != nil {
		d.Fatal(err)
	}
	return p
}

// tip returns the newest commit of main at the forge.
func (d *forgeRepo) tip() string {
	d.Helper()
	return strings.Fields(d.git("ls-remote", "origin", "refs/heads/main"))[0]
}

// A pull request is opened once, and merged as the commit that the branch gets.
func TestAPullRequestIsOpenedOnceAndMerged(t *testing.T) {
	eachForge(t, func(d *forgeRepo) {
		p := d.open()
		if again := d.open(); again.Number != p.Number {
			t.Errorf("the second call opened %d, the first %d", again.Number, p.Number)
		}
		p = d.get(p)
		if !p.Open || p.Head != d.work || p.Base != "main" || p.MergedAs != "" || p.Unfit || !strings.HasPrefix(p.URL, d.URL+"/team/ledger/pull") {
			d.Errorf("it is %+v", p)
		}
		merged, err := d.forge.Merge(d.Context(), p, d.work, forge.MergeCommit)
		if err != nil || merged != d.tip() || merged == d.work {
			d.Errorf("it was merged as %s, main is %s, %v", merged, d.tip(), err)
		}
		if p = d.get(p); p.Open || p.MergedAs != merged {
			d.Errorf("afterwards it is %+v", p)
		}
		if texts := d.Texts(); !slices.Equal(texts, []string{"Add a\nFleetboard-Job: FB-1"}) {
			d.Errorf("they say %q", texts)
		}
	})
}

// Fast-forward makes no commit, and is refused where main has moved on.
func TestFastForward(t *testing.T) {
	eachForge(t, func(d *forgeRepo) {
		p := d.open()
		merged, err := d.forge.Merge(d.Context(), p, d.work, forge.FastForward)
		if err != nil || merged != d.work || d.tip() != d.work {
			d.Errorf("it was merged as %s, main is %s, %v", merged, d.tip(), err)
		}
		if p = d.get(p); p.MergedAs != d.work {
			d.Errorf("afterwards it is %+v", p)
		}
		d.git("fetch", "-q", "origin", "main:main")
		late := d.branch("work", "b.txt", "late")
		d.main("c.txt", "meanwhile")
		if _, err := d.forge.Merge(d.Context(), d.open(), late, forge.FastForward); err == nil {
			d.Error("main went back to what it was")
		}
	})
}

// A branch that somebody has pushed to is not merged as what was approved.
func TestAnotherHeadIsNotMerged(t *testing.T) {
	eachForge(t, func(d *forgeRepo) {
		p := d.open()
		before := d.tip()
		moved := d.branch("work", "a.txt", "somebody else's")
		_, err := d.forge.Merge(d.Context(), p, d.work, forge.MergeCommit)
		if !errors.Is(err, forge.ErrNotYet) || d.tip() != before {
			d.Errorf("it was merged: %v", err)
		}
		if now := d.get(p); now.Head != moved {
			d.Errorf("the head is %s, want %s", now.Head, moved)
		}
	})
}

// What is in the way is reported: a conflict, reviews, a person who closes it.
func TestWhatIsInTheWay(t *testing.T) {
	eachForge(t, func(d *forgeRepo) {
		p := d.open()
		d.WantReviews(1)
		if _, err := d.forge.Merge(d.Context(), p, d.work, forge.MergeCommit); !errors.Is(err, forge.ErrNotYet) || !strings.Contains(err.Error(), "approv") {
			d.Errorf("without a review: %v", err)
		}
		d.main("a.txt", "meanwhile")
		if p = d.get(p); !p.Unfit {
			d.Error("a conflict fits")
		}
		if _, err := d.forge.Merge(d.Context(), p, d.work, forge.MergeCommit); !errors.Is(err, forge.ErrNotYet) {
			d.Errorf("with a conflict: %v", err)
		}
		d.Close(p.Number)
		if p = d.get(p); p.Open || p.MergedAs != "" {
			d.Errorf("closed it is %+v", p)
		}
		if again := d.open(); again.Number == p.Number {
			d.Error("the closed one is opened again")
		}
	})
}

func TestChecks(t *testing.T) {
	eachForge(t, func(d *forgeRepo) {
		checks := func() forge.Checks {
			found, err := d.forge.Checks(d.Context(), d.repo, d.work)
			if err != nil {
				d.Fatal(err)
			}
			slices.Sort(found.Failed)
			return found
		}
		if found := checks(); found.Any || len(found.Pending) > 0 {
			d.Errorf("without a check it found %+v", found)
		}
		d.SetStatus(d.work, "build", "success")
		d.SetStatus(d.work, "lint", "pending")
		d.SetStatus(d.work, "test", "failure")
		d.SetStatus(d.work, "size", "error")
		if found := checks(); !found.Any || !slices.Equal(found.Pending, []string{"lint"}) || !slices.Equal(found.Failed, []string{"size", "test"}) {
			d.Errorf("it found %+v", found)
		}
	})
}

// Runs of GitHub's apps are checks too.
func TestCheckRuns(t *testing.T) {
	eachForge(t, func(d *forgeRepo) {
		for name, state := range map[string]string{"@one": "pending", "@two": "failure", "@three": "neutral", "@four": "skipped"} {
			d.SetStatus(d.work, name, state)
		}
		found, err := d.forge.Checks(d.Context(), d.repo, d.work)
		if err != nil || len(found.Pending) != 1 || len(found.Failed) != 1 {
			d.Errorf("it found %+v, %v", found, err)
		}
	})
}

// A refusal says what the forge answered and whether to call again, and never the token.
func TestRefusals(t *testing.T) {
	eachForge(t, func(d *forgeRepo) {
		for name, c := range map[string]struct {
			answered forgetest.Refusal
			again    bool
			said     string
			after    time.Duration
		}{
			"is down":      {forgetest.Refusal{Status: 502, Body: "<html>"}, true, "502", 0},
			"has a limit":  {forgetest.Refusal{Status: 429, Header: map[string]string{"Retry-After": "7"}, Body: `{"message": "slow down"}`}, true, "slow down", 7 * time.Second},
			"forbids it":   {forgetest.Refusal{Status: 403, Body: `{"message": "no access for ` + forgetest.Token + `"}`}, false, "no access for …", 0},
			"is no forge":  {forgetest.Refusal{Status: 200, Body: "<html>"}, false, "no answer that can be read", 0},
			"leads astray": {forgetest.Refusal{Status: 307, Header: map[string]string{"Location": "http://127.0.0.1:1/"}}, false, "elsewhere", 0},
		} {
			d.Refuse(c.answered)
			_, err := d.forge.Get(d.Context(), d.repo, 1)
			var r *forge.Refusal
			if !errors.As(err, &r) || r.Again != c.again || r.After != c.after || !strings.Contains(err.Error(), c.said) || strings.Contains(err.Error(), forgetest.Token) {
				d.Errorf("a forge that %s gives %+v: %v", name, r, err)
			}
		}
		if f, repo := d.known(filepath.Base(d.T.Name()), "wr0ng-t0ken"); f != nil {
			_, err := f.Get(d.Context(), repo, 1)
			if err == nil || !strings.Contains(err.Error(), "answered 401: Bad credentials") || strings.Contains(err.Error(), "wr0ng") {
				d.Errorf("with a wrong token: %v", err)
			}
		}
	})
}

// GitHub says by other headers how long its limits last.
func TestGitHubsLimit(t *testing.T) {
	eachForge(t, func(d *forgeRepo) {
		if !strings.HasSuffix(d.T.Name(), "github") {
			return
		}
		reset := time.Now().Add(time.Hour).Unix()
		d.Refuse(forgetest.Refusal{Status: 403, Body: `{"message": "API rate limit exceeded"}`, Header: map[string]string{
			"X-Ratelimit-Limit": "60", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": strconv.FormatInt(reset, 10)}})
		_, err := d.forge.Get(d.Context(), d.repo, 1)
		var r *forge.Refusal
		if !errors.As(err, &r) || !r.Again || r.After < 59*time.Minute {
			d.Errorf("it gives %+v: %v", r, err)
		}
	})
}
