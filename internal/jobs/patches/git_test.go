package patches_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repo is a repository of git with files that changes begin from.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T, files map[string]string) repo {
	r := repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main", ".")
	r.commit(files)
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+r.dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %q: %v %s", args, err, said.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (r repo) write(path, content string) {
	r.t.Helper()
	at := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// commit writes files, "-" removes one, and commits.
func (r repo) commit(files map[string]string) string {
	r.t.Helper()
	for path, content := range files {
		if content == "-" {
			r.git("rm", "-q", path)
			continue
		}
		r.write(path, content)
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "x")
	return r.git("rev-parse", "HEAD")
}

// diff is the patch of a branch as the worker makes it.
func (r repo) diff(base, tip string) string {
	r.t.Helper()
	return r.git("diff", "--no-ext-diff", "--no-textconv", "--no-color", base, tip, "--") + "\n"
}
