package repos

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// However much an attempt changes, little of it is in memory, and what is left out is said.
func TestALargeDiffIsBounded(t *testing.T) {
	r, _, _ := withOrigin(t)
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	line := strings.Repeat("x", 99) + "\n"
	for i := range 9 {
		write(t, w.Dir, fmt.Sprintf("%d.txt", i), strings.Repeat(line, 80_000))
	}
	write(t, w.Dir, "one-line.txt", strings.Repeat("y", 40<<20))
	if _, _, err := w.Commit(t.Context(), "Much"); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := must[Diff](t)(w.Diff(t.Context()))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("it takes %d MB of memory", used>>20)
	}
	if d.Count != 10 || d.Added < 9*80_000 || !d.Truncated || !d.Cut || len(d.Patch) > maxPatch || !strings.HasSuffix(d.Patch, "\n") {
		t.Errorf("of the diff it tells %d files, %d lines, %d bytes, cut %v", d.Count, d.Added, len(d.Patch), d.Cut)
	}
	if info, err := os.Stat(d.Whole); err != nil || info.Size() != maxWhole {
		t.Errorf("the whole patch is %v, %v", info, err)
	}
}

// Markers of conflicts that an agent left are found, and nothing else that git finds wrong.
func TestMarkersOfConflictsAreFound(t *testing.T) {
	r, _, _ := withOrigin(t)
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	write(t, w.Dir, "a.txt", "one\n<<<<<<< HEAD\ntwo\n=======\nthree\n>>>>>>> x\n")
	write(t, w.Dir, "b.txt", "spaces at the end  \n \ttabs\n\n\n")
	if _, _, err := w.Commit(t.Context(), "Work"); err != nil {
		t.Fatal(err)
	}
	if d := must[Diff](t)(w.Diff(t.Context())); !slices.Equal(d.Conflicts, []string{"a.txt:2", "a.txt:4", "a.txt:6"}) {
		t.Errorf("it finds %q", d.Conflicts)
	}
	write(t, w.Dir, "a.txt", "one\n")
	if _, _, err := w.Commit(t.Context(), "Work"); err != nil {
		t.Fatal(err)
	}
	if d := must[Diff](t)(w.Diff(t.Context())); len(d.Conflicts) > 0 {
		t.Errorf("it finds %q", d.Conflicts)
	}
}

// Of many places some are named and all are counted.
func TestManyMarkersOfConflictsAreCounted(t *testing.T) {
	r, _, _ := withOrigin(t)
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	write(t, w.Dir, "a.txt", strings.Repeat("<<<<<<< ours\n", maxConflicts+5))
	if _, _, err := w.Commit(t.Context(), "Many"); err != nil {
		t.Fatal(err)
	}
	if d := must[Diff](t)(w.Diff(t.Context())); len(d.Conflicts) != maxConflicts || d.ConflictCount != maxConflicts+5 {
		t.Errorf("%d of %d places are named", len(d.Conflicts), d.ConflictCount)
	}
}

// A new pointer of Git LFS is missing where its contents are not on this host; a file that is
// none, and what the origin has, are not.
func TestMissingContentsOfLargeFilesAreFound(t *testing.T) {
	r, _, _ := withOrigin(t)
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	pointer := func(digit string) string {
		return "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat(digit, 64) + "\nsize 1\n"
	}
	write(t, w.Dir, "gone.bin", pointer("a"))
	commit := func() Diff {
		t.Helper()
		if _, _, err := w.Commit(t.Context(), "Large files"); err != nil {
			t.Fatal(err)
		}
		return must[Diff](t)(w.Diff(t.Context()))
	}
	if d := commit(); d.MissingCount != 0 {
		t.Errorf("without Git LFS it misses %v", d.Missing)
	}
	write(t, w.Dir, ".gitattributes", "*.bin filter=lfs\n")
	write(t, w.Dir, "here.bin", pointer("b"))
	write(t, w.Dir, "plain.bin", "no pointer\n")
	at := w.mirror.largeFile(strings.Repeat("b", 64))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d := commit(); d.MissingCount != 1 || !slices.Equal(d.Missing, []string{"gone.bin"}) {
		t.Errorf("it misses %v", d.Missing)
	}
}

// A diff that is not much longer than what is shown is kept whole.
func TestALongDiffIsKeptWhole(t *testing.T) {
	r, _, _ := withOrigin(t)
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	for i := range maxFiles + 5 {
		write(t, w.Dir, fmt.Sprintf("%04d.txt", i), strings.Repeat("a line of text\n", 10))
	}
	if _, _, err := w.Commit(t.Context(), "Many"); err != nil {
		t.Fatal(err)
	}
	d := must[Diff](t)(w.Diff(t.Context()))
	whole, err := os.ReadFile(d.Whole)
	if err != nil || d.Cut || !strings.HasPrefix(string(whole), d.Patch) || strings.Count(string(whole), "\n+a line") != 10*(maxFiles+5) {
		t.Errorf("the whole patch has %d bytes, cut %v: %v", len(whole), d.Cut, err)
	}
	if len(d.Files) != maxFiles || d.Count != maxFiles+5 {
		t.Errorf("%d of %d files are named", len(d.Files), d.Count)
	}
}
