package repos

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What an attempt touches is found while its agent works: in commits, in files that are changed, new,
// renamed or gone, and in submodules; not what git ignores, nor what was only written again.
func TestWhatAnAttemptTouches(t *testing.T) {
	dir := t.TempDir()
	at := repository(t, dir, "ledger")
	sub := repository(t, dir, "part")
	for _, name := range []string{"kept", "again", "changed", "gone", "moved", "committed", "undone", "staged"} {
		write(t, at, name, strings.Repeat(name+"\n", 50))
	}
	write(t, at, ".gitignore", "*.log\n")
	gitIn(t, at, "-c", "protocol.file.allow=always", "submodule", "add", "-q", sub, "part")
	gitIn(t, at, "add", "-A")
	gitIn(t, at, "commit", "-q", "-m", "More")
	w := begin(t, host(t, dir, t.TempDir()), Attempt{Repo: "ledger", Job: "FB-1", ID: "id-1", Epoch: 1})
	look := w.Touched()
	wants := func(when string, want ...string) {
		t.Helper()
		got, err := look.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s it touches %q; want %q", when, got, want)
		}
	}
	wants("at the beginning")
	write(t, w.Dir, "committed", "new\n")
	write(t, w.Dir, "undone", "new\n")
	gitIn(t, w.Dir, "commit", "-q", "-a", "-m", "One")
	wants("after a commit", "committed", "undone")
	gitIn(t, w.Dir, "checkout", "-q", "HEAD~", "undone")
	gitIn(t, w.Dir, "reset", "-q")
	write(t, w.Dir, "again", strings.Repeat("again\n", 50))
	write(t, w.Dir, "changed", "new\n")
	write(t, w.Dir, "staged", "new\n")
	gitIn(t, w.Dir, "add", "staged")
	if err := os.Rename(filepath.Join(w.Dir, "moved"), filepath.Join(w.Dir, "there")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(w.Dir, "gone")); err != nil {
		t.Fatal(err)
	}
	odd := "odd \"name\"\n\u00e9\xff"
	write(t, w.Dir, odd, "x")
	write(t, w.Dir, "x.log", "x")
	if err := os.MkdirAll(filepath.Join(w.Dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.Dir, "a", "b"), "deep", "x")
	repository(t, w.Dir, "own")
	all := []string{"a/b/deep", "changed", "committed", "gone", "moved", odd, "own", "staged", "there", "undone"}
	slices.Sort(all)
	wants("in the end", all...)
	// On a branch without the commit it still touches what it has in the directory.
	gitIn(t, w.Dir, "stash", "-q", "-u")
	gitIn(t, w.Dir, "checkout", "-q", "--detach", w.Base)
	wants("back at the beginning", "own")
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A repository that the agent has made unreadable touches what its directory has, and nothing of what
// it says is run.
func TestTouchedFilesOfAHostileRepository(t *testing.T) {
	dir := t.TempDir()
	repository(t, dir, "ledger")
	w := begin(t, host(t, dir, t.TempDir()), Attempt{Repo: "ledger", Job: "FB-1", ID: "id-1", Epoch: 1})
	ran := filepath.Join(dir, "ran")
	write(t, filepath.Join(w.Dir, ".git"), "config", "[core]\n\tfsmonitor = touch "+ran+"\n[diff]\n\texternal = touch "+ran+
		"\n[filter \"evil\"]\n\tclean = touch "+ran+"\n[diff \"evil\"]\n\ttextconv = touch "+ran+"\n")
	write(t, w.Dir, ".gitattributes", "* filter=evil diff=evil\n")
	write(t, w.Dir, "README.md", "changed\n")
	write(t, filepath.Join(w.Dir, ".git"), "HEAD", strings.Repeat("1", 40)+"\n")
	got, err := w.Touched().Look(t.Context())
	if slices.Sort(got); err != nil || !slices.Equal(got, []string{".gitattributes", "README.md"}) {
		t.Errorf("it touches %q, %v", got, err)
	}
	if err := os.RemoveAll(filepath.Join(w.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if got, err = w.Touched().Look(t.Context()); err != nil || len(got) != 2 {
		t.Errorf("without its repository it touches %q, %v", got, err)
	}
	if exists(ran) {
		t.Error("a program of the agent's repository was run")
	}
}
