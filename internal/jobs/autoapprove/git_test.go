package autoapprove_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// repo is a bare repository of git with a commit that changes begin from.
type repo struct {
	t    *testing.T
	dir  string
	base string
}

// started is what is in the commit that changes begin from.
var started = map[string]string{
	"cmd/app/main.go": "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n", "README.md": "# App\n\nIt says hello.\n",
	"internal/greet/greet.go": "package greet\n\n// Word is said.\nconst Word = \"hello\"\n", "docs/guide.md": "# Guide\n\nRun it.\n",
	"infra/main.tf": "resource \"x\" {\n  size = 1\n}\n", "config/prod.yaml": "replicas: 1\n", "db/schema/001.sql": "CREATE TABLE a ();\n",
	"scripts/run.sh": "#!/bin/sh\nexec app\n", ".github/workflows/ci.yml": "on: push\n", "go.mod": "module app\n", "AGENTS.md": "Be kind.\n",
	"web/app.css": "a { color: red }\n", "web/logo.png": "\x89PNG\x00\x01", "gen/api.gen.go": "package gen\n", "crlf.txt": "a\r\nb\r\n",
	"secrets/key.txt": "k\n",
}

func newRepo(t *testing.T) *repo {
	r := &repo{t: t, dir: t.TempDir()}
	r.git("", "init", "-q", "--bare", ".")
	for path, content := range started {
		mode := "100644"
		if strings.HasSuffix(path, ".sh") {
			mode = "100755"
		}
		r.put(mode, path, content)
	}
	r.base = r.commit()
	return r
}

func (r *repo) git(in string, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(in)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+r.dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b", "GIT_DIR="+r.dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %q: %v %s", args, err, said.String())
	}
	return string(out)
}

// put writes a file, or what else a mode stands for, into the next commit.
func (r *repo) put(mode, path, content string) {
	name := strings.TrimSpace(r.git(content, "hash-object", "-w", "--stdin"))
	if mode == "160000" {
		name = strings.Repeat("1", 40)
	}
	r.git("", "-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "update-index", "--add", "--replace", "--cacheinfo", mode+","+name+","+path)
}

func (r *repo) remove(path string) {
	r.git("0 "+strings.Repeat("0", 40)+"\t"+path+"\x00", "update-index", "-z", "--index-info")
}

// move has a file under another name in the next commit.
func (r *repo) move(from, to string) {
	r.remove(from)
	r.put("100644", to, started[from])
}

func (r *repo) commit() string {
	return strings.TrimSpace(r.git("", "commit-tree", "-m", "x", strings.TrimSpace(r.git("", "write-tree"))))
}

// diff returns what a change does, as workers read it.
func (r *repo) diff(change func(r *repo), how ...string) (patch, commit string) {
	r.git("", "read-tree", r.base)
	change(r)
	commit = r.commit()
	args := append([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-color"}, how...)
	return r.git("", append(args, r.base, commit, "--")...), commit
}
