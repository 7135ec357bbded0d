package repos

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// gitIn runs git as a person would.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(
		t.Context(),
		"git",
		append([]string{"-c", "user.name=Mara", "-c", "user.email=mara@kestrel.example", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// repository makes one with a commit, below a directory of repositories.
func repository(t *testing.T, dir, name string) string {
	t.Helper()
	at := filepath.Join(dir, name)
	gitIn(t, dir, "init", "-q", "-b", "main", at)
	write(t, at, "README.md", "# "+name+"\n")
	gitIn(t, at, "add", "-A")
	gitIn(t, at, "commit", "-q", "-m", "Begin")
	return at
}

// host opens the repositories of a directory, as one process of a worker.
func host(t *testing.T, dir, state string, clone ...string) *Repos {
	t.Helper()
	r, err := Open(
		Options{
			Dir:    dir,
			State:  state,
			Clone:  clone,
			Author: Identity{"ada", "ada@fleetboard.invalid"},
			Log:    slog.New(slog.DiscardHandler),
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func begin(t *testing.T, r *Repos, a Attempt) *Worktree {
	t.Helper()
	w, err := r.Begin(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { runtime.KeepAlive(w) }) // its lock goes with it
	return w
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// mirrorIn returns the mirror of a repository.
func mirrorIn(t *testing.T, r *Repos, name string) string {
	t.Helper()
	return r.mirrorFor(must[source](t)(r.source(t.Context(), name))).dir
}

func TestAnAttemptFromItsBeginningToItsEnd(t *testing.T) {
	dir := t.TempDir()
	origin := filepath.Join(t.TempDir(), "origin.git")
	at := repository(t, dir, "ledger")
	gitIn(t, dir, "clone", "-q", "--bare", at, origin)
	gitIn(t, at, "remote", "add", "origin", origin)
	write(t, filepath.Join(at, ".git", "hooks"), "pre-commit", "#!/bin/sh\nexit 1\n") // never run
	if err := os.Chmod(filepath.Join(at, ".git", "hooks", "pre-commit"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := host(t, dir, t.TempDir())
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	name := Attempt{Job: "FB-1", Epoch: 1}.Name()
	if w.Branch != "fleet/"+name || filepath.Base(w.Dir)+"-e1" != name {
		t.Errorf("branch %s in %s", w.Branch, w.Dir)
	}
	write(t, w.Dir, "new.txt", "one\ntwo\n")
	commit, changed, err := w.Commit(t.Context(), "FB-1: Say hello")
	if err != nil || !changed {
		t.Fatalf("commit: %v, changed %v", err, changed)
	}
	if said := gitIn(
		t,
		w.Dir,
		"log",
		"-1",
		"--format=%an|%B",
		commit,
	); !strings.HasPrefix(
		said,
		"ada|FB-1: Say hello\n\nFleetboard-Job: FB-1\nFleetboard-Epoch: 1",
	) {
		t.Errorf("the commit says %q", said)
	}
	d := must[Diff](t)(w.Diff(t.Context()))
	if !slices.Equal(d.Files, []string{"new.txt"}) || d.Added != 2 || !strings.Contains(d.Patch, "+two") || d.Truncated {
		t.Errorf("the diff is %+v", d)
	}
	for range 2 { // a second time does no harm
		if pushed := must[bool](t)(w.Push(t.Context())); !pushed || gitIn(t, origin, "rev-parse", w.Branch) != commit {
			t.Error("it was not pushed")
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.Dir); err == nil || gitIn(t, at, "status", "--porcelain") != "" {
		t.Error("the worktree stays, or the clone is not clean")
	}
}

// Two attempts at once do not see each other's files, also where they use one place.
func TestAttemptsDoNotSeeEachOther(t *testing.T) {
	dir := t.TempDir()
	repository(t, dir, "ledger")
	r := host(t, dir, t.TempDir())
	a := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	b := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 2})
	write(t, a.Dir, "a.txt", "a")
	if _, err := os.Stat(filepath.Join(b.Dir, "a.txt")); err == nil || a.Dir == b.Dir {
		t.Errorf("both are in %s", b.Dir)
	}
}

// A process that was killed leaves its worktree, with a lock in it; the next one goes on.
func TestReopenAfterAKill(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	repository(t, dir, "ledger")
	first := begin(t, host(t, dir, state), Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	write(t, first.Dir, "half.txt", "half")
	write(t, filepath.Join(first.Dir, ".git"), "index.lock", "")
	write(t, first.private, "index.lock", "")
	if _, err := host(t, dir, state).Reopen(t.Context(), first.attempt); err == nil {
		t.Fatal("two processes work in one worktree")
	}
	_ = first.lock.Unlock() // as the kernel does when a process ends

	w := must[*Worktree](t)(host(t, dir, state).Reopen(t.Context(), first.attempt))
	if w.Dir != first.Dir || w.Base != first.Base {
		t.Errorf("it is in %s from %s", w.Dir, w.Base)
	}
	if saved := must[string](t)(w.SaveWIP(t.Context(), "killed")); gitIn(t, w.mirror.dir, "show", saved+":half.txt") != "half" {
		t.Error("the work is lost")
	}
	_ = w.lock.Unlock()
	if err := os.RemoveAll(w.Dir); err != nil { // somebody cleaned up by hand
		t.Fatal(err)
	}
	w = must[*Worktree](t)(host(t, dir, state).Reopen(t.Context(), first.attempt))
	if text, err := os.ReadFile(filepath.Join(w.Dir, "half.txt")); err != nil || string(text) != "half" {
		t.Errorf("it was made again with %q, %v", text, err)
	}
	if _, err := host(t, dir, state).Reopen(t.Context(), Attempt{Repo: "ledger", Job: "FB-1", Epoch: 9}); !errors.Is(err, ErrGone) {
		t.Errorf("another attempt: %v", err)
	}
}

// A later attempt goes on from what an earlier one saved, also on another host by way of
// the origin, and its changes count from where the first one began.
func TestALaterAttemptGoesOn(t *testing.T) {
	dir, there := t.TempDir(), t.TempDir()
	at := repository(t, dir, "ledger")
	origin := filepath.Join(t.TempDir(), "origin.git")
	gitIn(t, dir, "clone", "-q", "--bare", at, origin)
	gitIn(t, at, "remote", "add", "origin", origin)
	gitIn(t, there, "clone", "-q", origin, "ledger")
	r := host(t, dir, t.TempDir())
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	write(t, w.Dir, "half.txt", "half")
	saved := must[string](t)(w.SaveWIP(t.Context(), "paused"))
	if pushed := must[bool](t)(w.Push(t.Context())); !pushed {
		t.Fatal("it was not pushed")
	}
	for name, other := range map[string]*Repos{"here": r, "elsewhere": host(t, there, t.TempDir())} {
		next := begin(t, other, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 2, Continue: saved})
		d := must[Diff](t)(next.Diff(t.Context()))
		if !next.Continued || !slices.Equal(d.Files, []string{"half.txt"}) {
			t.Errorf("%s: continued %v, changed %v", name, next.Continued, d.Files)
		}
	}
	anew := begin(t, r, Attempt{Repo: "ledger", Job: "FB-2", Epoch: 1, Continue: strings.Repeat("0", 40)})
	if anew.Continued {
		t.Error("it goes on from what is nowhere")
	}
}

// What an earlier attempt changed may be in the default branch meanwhile, as it was or squashed: the next one
// begins from there, and counts only what it changes itself.
func TestALaterAttemptBeginsFromWhatWasMerged(t *testing.T) {
	for name, merge := range map[string][]string{"as it was": {"merge", "-q", "--ff-only"}, "by a merge": {"merge", "-q", "--no-ff"},
		"squashed": {"merge", "-q", "--squash"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := repository(t, dir, "ledger")
			r := host(t, dir, t.TempDir())
			w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
			write(t, w.Dir, "half.txt", "half")
			saved := must[string](t)(w.SaveWIP(t.Context(), "done"))
			gitIn(t, at, "fetch", "-q", w.Mirror(), saved)
			gitIn(t, at, append(merge, saved)...)
			if name == "squashed" {
				gitIn(t, at, "commit", "-q", "-m", "The work of FB-1")
			}
			write(t, at, "other.txt", "other")
			gitIn(t, at, "add", "-A")
			gitIn(t, at, "commit", "-q", "-m", "Other work")
			next := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 2, Continue: saved})
			d := must[Diff](t)(next.Diff(t.Context()))
			if next.Continued || !next.Contained || next.Base != gitIn(t, at, "rev-parse", "HEAD") || len(d.Files) > 0 {
				t.Errorf("continued %v, contained %v, from %s, changed %v", next.Continued, next.Contained, next.Base, d.Files)
			}
		})
	}
}

// A link may take the place of a directory or a file, and either that of a link, wherever they lead: what stands
// there is handed in, and nothing behind a link.
func TestLinksTakePlaces(t *testing.T) {
	files := []string{"docs/a.md", "docs/deep/b.md", "docs2/a.md", "file", "lib/x/y.go"}
	for change, want := range map[string]string{
		"mv docs documentation && ln -s documentation docs":            "docs docs2/a.md documentation/a.md documentation/deep/b.md file lib/x/y.go link",
		"mv docs/deep deep && ln -s ../deep docs/deep":                 "deep/b.md docs/a.md docs/deep docs2/a.md file lib/x/y.go link",
		"rm -r docs && ln -s docs2 docs":                               "docs docs2/a.md file lib/x/y.go link",
		"rm -r docs && ln -s nowhere docs":                             "docs docs2/a.md file lib/x/y.go link",
		"rm -r docs && ln -s ../.. docs":                               "docs docs2/a.md file lib/x/y.go link",
		"cp -r docs ../outside && rm -r docs && ln -s ../outside docs": "docs docs2/a.md file lib/x/y.go link",
		"mv lib/x x && rmdir lib && ln -s . lib":                       "docs/a.md docs/deep/b.md docs2/a.md file lib link x/y.go",
		"rm file && ln -s docs/a.md file":                              "docs/a.md docs/deep/b.md docs2/a.md file lib/x/y.go link",
		"rm -r docs && echo one > docs":                                "docs docs2/a.md file lib/x/y.go link",
		"rm file && mkdir file && echo one > file/in":                  "docs/a.md docs/deep/b.md docs2/a.md file/in lib/x/y.go link",
		"rm link && mkdir link && echo one > link/a.md":                "docs/a.md docs/deep/b.md docs2/a.md file lib/x/y.go link/a.md",
		"mv docs d && ln -s d docs && git add -A":                      "d/a.md d/deep/b.md docs docs2/a.md file lib/x/y.go link",
	} {
		t.Run(change, func(t *testing.T) {
			dir := t.TempDir()
			at := repository(t, dir, "ledger")
			for _, name := range files {
				must[struct{}](t)(struct{}{}, os.MkdirAll(filepath.Dir(filepath.Join(at, name)), 0o700))
				write(t, at, name, name)
			}
			must[struct{}](t)(struct{}{}, os.Symlink("docs", filepath.Join(at, "link")))
			gitIn(t, at, "add", "-A")
			gitIn(t, at, "commit", "-q", "-m", "Files")
			w := begin(t, host(t, dir, t.TempDir()), Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
			agent := exec.CommandContext(t.Context(), "sh", "-c", change)
			agent.Dir = w.Dir
			if out, err := agent.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			commit, _, err := w.Commit(t.Context(), "Done")
			if err != nil {
				t.Fatal(err)
			}
			list := strings.Fields(gitIn(t, w.Mirror(), "ls-tree", "-r", "--name-only", commit))
			list = slices.DeleteFunc(list, func(name string) bool { return name == "README.md" })
			if got := strings.Join(list, " "); got != want {
				t.Errorf("handed in are %s; want %s", got, want)
			}
		})
	}
}

func TestQuarantineIsNeverTakenForAccepted(t *testing.T) {
	dir := t.TempDir()
	at := repository(t, dir, "ledger")
	w := begin(t, host(t, dir, t.TempDir()), Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	write(t, w.Dir, "half.txt", "half")
	saved := must[string](t)(w.SaveWIP(t.Context(), "fenced"))
	for range 2 {
		if err := w.Quarantine(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	aside := "fleet-quarantine/" + w.attempt.Name()
	if branches := gitIn(t, w.mirror.dir, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"); branches != aside {
		t.Errorf("branches are %q", branches)
	}
	if branches := gitIn(t, at, "for-each-ref", "--format=%(refname:short)"); branches != "main" {
		t.Errorf("branches of the clone are %q", branches)
	}
	if gitIn(t, w.mirror.dir, "rev-parse", aside) != saved {
		t.Error("the work is lost")
	}
}

// A mirror is cloned when a job needs it, and shared by all attempts.
func TestMirrorsAreClonedOnDemand(t *testing.T) {
	origins, state := t.TempDir(), t.TempDir()
	at := repository(t, origins, "ledger")
	r := host(t, "", state, "file://"+origins+"/*")
	a := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	b := begin(t, r, Attempt{Repo: "ledger", Job: "FB-2", Epoch: 1})
	for _, w := range []*Worktree{a, b} {
		objects, err := os.ReadFile(filepath.Join(w.Dir, ".git", "objects", "info", "alternates"))
		if err != nil || string(objects) != filepath.Join(mirrorIn(t, r, "ledger"), "objects")+"\n" {
			t.Errorf("it borrows objects from %q, %v", objects, err)
		}
	}
	write(t, a.Dir, "new.txt", "new")
	if _, _, err := a.Commit(t.Context(), "New"); err != nil {
		t.Fatal(err)
	}
	if pushed := must[bool](t)(a.Push(t.Context())); !pushed || gitIn(t, at, "show", a.Branch+":new.txt") != "new" {
		t.Error("it was not pushed")
	}
	if _, err := r.Begin(t.Context(), Attempt{Repo: "other", Job: "FB-3", Epoch: 1}); err == nil {
		t.Error("there is no such repository")
	}
	r.Reach(t.Context(), []string{"other", "ledger", "../ledger"})
	if found := must[[]Repo](t)(r.Discover(t.Context())); len(found) != 1 || found[0].Name != "ledger" {
		t.Errorf("it offers %+v", found)
	}
}

func TestARepositoryWithoutACommit(t *testing.T) {
	dir := t.TempDir()
	gitIn(t, dir, "init", "-q", "-b", "main", "empty")
	w := begin(t, host(t, dir, t.TempDir()), Attempt{Repo: "empty", Job: "FB-1", Epoch: 1})
	write(t, w.Dir, "first.txt", "first")
	if _, changed, err := w.Commit(t.Context(), "First"); err != nil || !changed {
		t.Fatalf("commit: %v, %v", changed, err)
	}
	if d := must[Diff](t)(w.Diff(t.Context())); !slices.Equal(d.Files, []string{"first.txt"}) {
		t.Errorf("the diff is %+v", d)
	}
}

// What comes from the network never becomes a path or an option of git.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	repository(t, dir, "ledger")
	r := host(t, dir, t.TempDir(), "file://"+dir+"/*")
	for _, repo := range []string{"", "..", "../ledger", "--upload-pack=touch x", "/etc", "a/b", strings.Repeat("x", 65)} {
		if _, err := r.Begin(t.Context(), Attempt{Repo: repo, Job: "FB-1", Epoch: 1}); err == nil {
			t.Errorf("%q is a repository", repo)
		}
	}
	for i, from := range []string{"--output=x", "main..HEAD", "@{-1}", "HEAD~1", "main:README.md"} {
		w := begin(t, r, Attempt{Repo: "ledger", Job: fmt.Sprintf("../%d\n--x", i), Epoch: 1, Continue: from})
		if w.Continued || strings.Contains(w.Branch, "..") || filepath.Dir(w.Dir) != r.worktrees(w.mirror) {
			t.Errorf("%q goes on in %s on %s", from, w.Dir, w.Branch)
		}
	}
}

func TestNoCredentialIsTold(t *testing.T) {
	dir := t.TempDir()
	at := repository(t, dir, "ledger")
	gitIn(t, at, "remote", "add", "origin", "https://mara:hunter2@127.0.0.1:1/team/ledger.git")
	r := host(t, dir, t.TempDir())
	found := must[[]Repo](t)(r.Discover(t.Context()))
	if len(found) != 1 || found[0].URL != "https://127.0.0.1:1/team/ledger.git" || found[0].DefaultBranch != "main" {
		t.Errorf("found %+v", found)
	}
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	write(t, w.Dir, "new.txt", "new")
	if _, _, err := w.Commit(t.Context(), "New"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Push(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("pushing nowhere: %v", err)
	}
}
