package repos

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// bulky makes a repository whose history has so many megabytes of files that cannot be
// compressed, and whose newest commit has none of them.
func bulky(t *testing.T, dir, name string, megabytes int) {
	t.Helper()
	at := repository(t, dir, name)
	noise := rand.NewChaCha8([32]byte{})
	for i := range megabytes {
		blob := make([]byte, 1<<20)
		_, _ = noise.Read(blob) // it never fails
		write(t, at, fmt.Sprintf("model-%d.bin", i), string(blob))
	}
	gitIn(t, at, "config", "core.compression", "0")
	gitIn(t, at, "add", "-A")
	gitIn(t, at, "commit", "-q", "-m", "Add the models")
	gitIn(t, at, "rm", "-q", "model-*")
	write(t, at, "list.txt", strings.Repeat("a model\n", 1000))
	gitIn(t, at, "add", "-A")
	gitIn(t, at, "commit", "-q", "-m", "Keep the models elsewhere")
}

// onDisk returns what files take on the disk, in bytes.
func onDisk(t *testing.T, dirs ...string) (total int64) {
	t.Helper()
	for _, dir := range dirs {
		if err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil {
				total += info.Sys().(*syscall.Stat_t).Blocks * 512
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return total
}

// Eight attempts at once on a repository add what is checked out and little more: its
// objects are on the disk once, whether it is a person's clone or a mirror.
func TestWorktreesShareTheObjects(t *testing.T) {
	const attempts, history = 8, 50
	const little = 128 << 10 // of an attempt: an index, references, the directories
	origins := t.TempDir()
	bulky(t, origins, "ledger", history)
	for name, r := range map[string]*Repos{
		"clone": host(t, origins, t.TempDir()), "mirror": host(t, "", t.TempDir(), "file://"+origins+"/*"),
	} {
		t.Run(name, func(t *testing.T) {
			if err := begin(t, r, Attempt{Repo: "ledger", Job: "FB-0", Epoch: 1}).Close(t.Context()); err != nil { // the mirror is made here
				t.Fatal(err)
			}
			repo := mirrorIn(t, r, "ledger")
			before, had := onDisk(t, origins, r.State), countObjects(t, repo)
			if at := onDisk(t, repo); at < history<<20 {
				t.Fatalf("the history takes %d bytes only", at)
			}
			var trees []*Worktree
			files := int64(0)
			for i := range attempts {
				w := begin(t, r, Attempt{Repo: "ledger", Job: fmt.Sprintf("FB-%d", i), Epoch: 1})
				for name := range strings.SplitSeq(gitIn(t, w.Dir, "ls-files"), "\n") {
					files += onDisk(t, filepath.Join(w.Dir, name))
				}
				trees = append(trees, w)
			}
			added := onDisk(t, origins, r.State) - before
			t.Logf("%d bytes before, %d more for %d worktrees, of which files %d", before, added, attempts, files)
			if added > files+attempts*little {
				t.Errorf("%d worktrees take %d bytes, and their files %d", attempts, added, files)
			}
			if has := countObjects(t, repo); has != had {
				t.Errorf("the objects were\n%s\nand are\n%s", had, has)
			}
			for _, w := range trees {
				if err := w.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if left := onDisk(t, origins, r.State) - before; left > attempts*little {
				t.Errorf("%d bytes are left of closed worktrees", left)
			}
		})
	}
}

// countObjects returns what git counts of a repository's own objects.
func countObjects(t *testing.T, repo string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(repo, "objects", "info", "alternates")); err == nil {
		t.Error("the objects are elsewhere")
	}
	return gitIn(t, repo, "count-objects", "-v")
}
