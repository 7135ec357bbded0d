package repos

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What cannot be saved whole is moved to where only a person removes it, and what can be is
// handed in all the same.
func TestWhatCannotBeSavedIsRescued(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		fails  bool // nothing can be handed in
	}{
		"a name that git refuses":     {"mkdir d; echo a > d/a; mkdir 'd/GIT~1'; echo b > 'd/GIT~1/b'", false},
		"commits that are broken":     {"echo a > d; git add d; git -c user.name=a -c user.email=a@b commit -qm a; find .git/objects -type f -path '*/??/*' -exec sh -c 'chmod u+w $1; echo > $1' - {} \\;", false},
		"branches that are too large": {"echo a > d; head -c 70000000 /dev/zero > .git/packed-refs", false},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, origin := withOrigin(t)
			w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
			agent(t, w, c.script)
			commit, _, err := w.Commit(t.Context(), "Work")
			if (err != nil) != c.fails {
				t.Fatalf("commit: %v", err)
			}
			if _, err := w.Push(t.Context()); err != nil || gitIn(t, origin, "rev-parse", w.Branch) != commit {
				t.Errorf("it is not pushed: %v", err)
			}
			if err := w.Close(t.Context()); err != nil || exists(w.Dir) {
				t.Errorf("the directory stays: %v", err)
			}
			rescued := must[[]Rescued](t)(r.Rescued())
			if len(rescued) != 1 || !strings.Contains(strings.Join(w.Notes, "\n"), rescued[0].Dir) || !strings.Contains(rescued[0].Note, w.Dir) {
				t.Fatalf("rescued are %+v; the notes are %q", rescued, w.Notes)
			}
			if _, err := os.Stat(filepath.Join(rescued[0].Dir, treeDir, "d")); err != nil {
				t.Error(err)
			}
			if did := gc(t, r, GCOptions{}); strings.Contains(did, "rescue") || !exists(rescued[0].Dir) {
				t.Errorf("gc removes %s", did)
			}
			if err := r.RemoveRescued("../mirrors"); !errors.Is(err, ErrNotRescued) {
				t.Errorf("another name: %v", err)
			}
			if err := r.RemoveRescued(rescued[0].Name); err != nil || exists(rescued[0].Dir) {
				t.Errorf("it stays: %v", err)
			}
		})
	}
}

// Files in the place of an attempt of which nobody knows are rescued too.
func TestUnknownFilesAreNotRemoved(t *testing.T) {
	r, _, _ := withOrigin(t)
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, w.Dir, "mine", "mine")
	begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 2})
	rescued := must[[]Rescued](t)(r.Rescued())
	if len(rescued) != 1 || !exists(filepath.Join(rescued[0].Dir, treeDir, "mine")) {
		t.Errorf("rescued are %+v", rescued)
	}
}
