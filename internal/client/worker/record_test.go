package worker

import (
	"os"
	"path/filepath"
	"testing"
)

// What a worker writes down takes the place of what was there as a whole: whoever reads that meanwhile, or
// after a kill, has it whole.
func TestAFileIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	path, open := filepath.Join(t.TempDir(), "job.json"), filepath.Join(t.TempDir(), "open")
	if err := writeWhole(path, []byte("before")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, open); err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(path, []byte("after")); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{open: "before", path: "after"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", file, got, err, want)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v", len(files), err)
	}
}
