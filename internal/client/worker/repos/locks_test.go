package repos

import (
	"os"
	"path/filepath"
	"testing"
)

// Locks and halves of objects that a killed git left in a mirror keep nobody out.
func TestLocksOfAKilledGitAreCleared(t *testing.T) {
	r, _, _ := withOrigin(t)
	w := work(t, r, "FB-1")
	left := []string{"packed-refs.lock", "refs/heads/" + w.Branch + ".lock", "shallow.lock", "config.lock", "objects/pack/tmp_pack_x", "objects/tmp_objdir-x/a"}
	for _, name := range left {
		path := filepath.Join(w.mirror.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Dir(path), filepath.Base(path), "")
	}
	write(t, w.Dir, "more", "more")
	if _, err := w.SaveWIP(t.Context(), "more"); err == nil {
		t.Fatal("the locks lock nothing")
	}
	if err := r.ClearLocks(); err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if exists(filepath.Join(w.mirror.dir, name)) {
			t.Errorf("%s stays", name)
		}
	}
	if _, err := w.SaveWIP(t.Context(), "more"); err != nil {
		t.Error(err)
	}
}

// A process that is killed while it makes or removes what it knows of an attempt leaves a
// directory that says nothing; one that says which attempt it is of stays.
func TestWhatWasHalfMadeOrRemovedIsCleared(t *testing.T) {
	t.Parallel()
	r, _, _ := withOrigin(t)
	w := work(t, r, "FB-1")
	half := filepath.Join(r.State, "private", "FB-2-e1")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, half, keptFile+".half", "{")
	if err := r.ClearLocks(); err != nil {
		t.Fatal(err)
	}
	if exists(half) || !exists(filepath.Join(w.private, keptFile)) {
		t.Errorf("half made: %v, written: %v; want only the latter", exists(half), exists(filepath.Join(w.private, keptFile)))
	}
}
