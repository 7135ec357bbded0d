package fault_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestNamesOfRepos(t *testing.T) {
	for name, want := range map[string]bool{
		"ledger-api": true, "acme/web": true, "github.com/acme/web.js": true, "a": true, "2048": true, "a@b": true, "web_v2": true, "a.git": true, "a/b/c/d": true, "": true,
		"..": false, ".": false, "../x": false, "a/../b": false, "a/..": false, "a//b": false, "/a": false, "a/": false, "-a": false, "--upload-pack=x": false,
		"a/-b": false, "a/.git": false, ".git": false, "a/.b": false, "a..b": false, "a.lock": false, "a.lock/b": false, "a.": false, "a/b.": false,
		`a\b`: false, `C:\a`: false, "C:/a": false, "a b": false, "a\nb": false, "a\x00": false, "a~1": false, "a^": false, "a:b": false, "a?": false, "a*": false,
		"a[b": false, "@": false, "a/@b": false, "a@{1}": false, "_a": false, "é": false, "\u202ea": false, "~/a": false, strings.Repeat("a", 129): false,
	} {
		p := fault.Problems{}
		p.Repo("repo", name, 128)
		if got := len(p) == 0; got != want {
			t.Errorf("%q: %v", name, p)
		}
	}
}

func TestFilesAreInsideTheirRepository(t *testing.T) {
	for name, want := range map[string]bool{
		"internal/jobs/**": true, "docs/*.md": true, "docs/": true, "**": true, "*": true, "!vendor/**": true, "a b/c.txt": true, "src/{a,b}/*.go": true,
		".github/workflows/ci.yaml": true, ".gitignore": true, ".gitattributes": true, "a/.gitkeep": true, "a..b": true, "...": true, "[ab]?.go": true, "ö/漢.md": true,
		"ab:c": true, "~a": true, "a~": true, "-x": true, "a/b.git/c": true, "foo@{1}": true,
		"../x": false, "..": false, "a/../b": false, "a/..": false, "./a": false, "a/./b": false, ".": false, "/etc/passwd": false, "//a": false, "a//b": false, "/": false,
		`C:\x`: false, "C:/x": false, "c:x": false, `\\host\x`: false, `a\..\b`: false, `a\b`: false, "~/x": false, "~root/x": false, "!../x": false, "!/x": false,
		".git/config": false, ".git": false, "a/.git/hooks/x": false, ".GIT/x": false, ".git./x": false, ".git /x": false, "git~1/x": false, ".git::$INDEX_ALLOCATION/x": false,
		"{a,..}/b": false, "{a,.git}/b": false, "a\nb": false, "a\x00b": false, "": false, " ": false, "a\x1b[31m": false, "file:///etc/passwd": false, "https://example.org/a": false,
	} {
		p := fault.Problems{}
		p.Files("files", []string{"ok", name}, 100, 512)
		if got := len(p) == 0; got != want || !want && p["files[1]"] == "" {
			t.Errorf("%q: %v", name, p)
		}
	}
	p := fault.Problems{}
	p.TouchedFiles("files_touched", []string{`a\b`, "c"}, 100, 512)
	if len(p) != 0 {
		t.Errorf("what git has is refused: %v", p)
	}
	p.TouchedFiles("files_touched", []string{"a", "../b"}, 100, 512)
	if !strings.Contains(p["files_touched[1]"], "inside the repository") {
		t.Errorf("%v", p)
	}
	p = fault.Problems{}
	if p.Files("files", make([]string, 101), 100, 512); len(p) != 1 {
		t.Errorf("too many: %v", p)
	}
}

// A capability may name a repo; then it is the name of one.
func TestCapabilitiesNameRepos(t *testing.T) {
	for token, want := range map[string]bool{"repo:acme/web": true, "repo:a": true, "node:20": true, "has:a/../b": true,
		"repo:..": false, "repo:a/../b": false, "repo:a//b": false, "repo:": false, "repo:a/": false} {
		if got := fault.IsCapability(token); got != want {
			t.Errorf("%s: %v", token, got)
		}
	}
}
