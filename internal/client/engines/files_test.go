package engines

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A change is shown against the last commit first, then against what was there the last time.
func TestChangesOfFilesAreShown(t *testing.T) {
	t.Parallel()
	dir, scratch := t.TempDir(), t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", args, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("a", "one\ntwo\n")
	git("add", "a")
	git("commit", "-qm", "first")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	d := &diffs{dir: dir, scratch: scratch, env: os.Environ(), seen: map[string][]byte{}}
	want := func(path string, lines ...string) {
		t.Helper()
		got := d.of(path)
		for _, line := range lines {
			if !strings.Contains("\n"+got, "\n"+line+"\n") {
				t.Errorf("%s: the diff\n%s has no line %q", path, got, line)
			}
		}
		if len(lines) == 0 && got != "" {
			t.Errorf("%s: the diff is %q", path, got)
		}
	}
	write("a", "one\n2\n")
	want(filepath.Join(dir, "a"), "@@ -1,2 +1,2 @@", "-two", "+2")
	write("a", "one\n2\n3\n")
	want("a", "+3")
	want("a")
	write("new", "x\n")
	want("new", "+x")
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	want("a", "-one")
	write("huge", strings.Repeat("x", maxDiffed+1))
	want("huge")
	want("../outside")
	want("/etc/passwd")
	want("link")
}
