// Package mutanttest builds programs without one of their promises, to check whether the tests
// that drive them find it out: a check that no program fails checks nothing.
package mutanttest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Overlay writes a file of the project, named from its root, with one text in place of
// another, and returns the list that names it to the compiler. The package of the test lies
// two folders below the root.
func Overlay(t *testing.T, file, old, replacement string) string {
	t.Helper()
	original, err := filepath.Abs(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(source), old, replacement, 1)
	if changed == string(source) {
		t.Fatalf("%s has not what was to be taken out of it", file)
	}
	dir := t.TempDir()
	copied := filepath.Join(dir, filepath.Base(file))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: copied}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{copied: []byte(changed), filepath.Join(dir, "overlay.json"): list} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "overlay.json")
}

// Compile runs the Go command, which has to succeed.
func Compile(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil { //nolint:noctx // the test's own time-out ends it
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
}

// Hunt is a test that looks for mutants.
type Hunt struct {
	Package string
	Test    string   // its name
	Flags   []string // more of them
	Env     []string // beside the test's own, as "NAME=value"
	Trail   string   // what the test says where it has found something
}

// Finds runs the test with an overlay, and reports whether it fails and says its trail.
func (h Hunt) Finds(t *testing.T, overlay string) bool {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "hunt.test")
	Compile(t, "test", "-c", "-o", binary, "-overlay", overlay, h.Package)
	args := append([]string{"-test.run=^" + h.Test + "$"}, h.Flags...)
	cmd := exec.Command(binary, args...) //nolint:noctx // the test's own time-out ends it
	cmd.Env = append(os.Environ(), h.Env...)
	out, err := cmd.CombinedOutput()
	found := err != nil && strings.Contains(string(out), h.Trail)
	if err != nil && !found {
		t.Fatalf("%s ended for another reason: %v\n%s", h.Test, err, out)
	}
	if found {
		before, after, _ := strings.Cut(string(out), h.Trail)
		t.Logf("found: %.1000s%s%.2000s", before[max(0, len(before)-1000):], h.Trail, after)
	}
	return found
}
