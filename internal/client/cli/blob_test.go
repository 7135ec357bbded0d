package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file goes up and comes back, by name and by pipe; one that is not whole is not there.
func TestBlobs(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	content := strings.Repeat("a line of a patch\n", 100_000)
	file, back := filepath.Join(t.TempDir(), "a.patch"), filepath.Join(t.TempDir(), "back.patch")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := sha256.Sum256([]byte(content))
	sum := hex.EncodeToString(whole[:])
	if said := w.fleet("blob", "put", file).ok(); said != sum+"\n" {
		t.Errorf("it was put as %q", said)
	}
	if said := w.fleetIn(content, "blob", "put", "-", "--json").ok(); !strings.Contains(said, `"sha256":"`+sum+`"`) {
		t.Errorf("from a pipe: %q", said)
	}
	w.fleet("blob", "get", sum, "-o", back).ok()
	if got, err := os.ReadFile(back); err != nil || string(got) != content {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	if said := w.fleet("blob", "get", sum).ok(); said != content {
		t.Errorf("%d bytes were printed", len(said))
	}
	w.fleet("blob", "get", strings.Repeat("0", 64), "-o", filepath.Join(t.TempDir(), "none")).ends(4)
	w.fleet("blob", "put", filepath.Join(t.TempDir(), "none")).ends(2)
	w.terminal = true
	w.fleet("blob", "get", sum).ends(2)
}
