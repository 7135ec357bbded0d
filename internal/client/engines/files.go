package engines

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// maxDiffed is how large a file may be whose changes are shown.
const maxDiffed = 1 << 20

// diffs shows what changes in files: since the last look, or since the last commit.
type diffs struct {
	dir, scratch string
	env          []string
	seen         map[string][]byte
}

// of returns what has changed in a file, "" where that cannot be told.
func (d *diffs) of(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.dir, path)
	}
	rest, err := filepath.Rel(d.dir, path)
	if err != nil || !filepath.IsLocal(rest) || d.scratch == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	before, known := d.seen[rest]
	if !known {
		before, _ = d.git(ctx, "show", "--no-textconv", "HEAD:./"+filepath.ToSlash(rest)).Output() // a new file was not there
	}
	now := readBounded(path)
	if len(before) > maxDiffed || len(now) > maxDiffed {
		return ""
	}
	d.seen[rest] = now
	old, fresh := filepath.Join(d.scratch, "diff.old"), filepath.Join(d.scratch, "diff.new")
	if os.WriteFile(old, before, 0o600) != nil || os.WriteFile(fresh, now, 0o600) != nil {
		return ""
	}
	out, _ := d.git(ctx, "diff", "--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "--", old, fresh).Output() // 1 says that they differ
	_, hunks, found := strings.Cut(string(out), "\n@@ ")
	if !found {
		return ""
	}
	return "@@ " + hunks
}

func (d *diffs) git(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = d.dir, append(d.env[:len(d.env):len(d.env)], "GIT_OPTIONAL_LOCKS=0")
	return cmd
}

// readBounded returns a regular file, one byte more than maxDiffed of a longer one. What is not there is empty.
func readBounded(path string) []byte {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() > maxDiffed {
		return make([]byte, maxDiffed+1)
	}
	text, _ := os.ReadFile(path) // one that has gone meanwhile is empty
	return text
}
