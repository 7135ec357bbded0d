package proving

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fleetboard/fleetboard/internal/redact"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a directory for proofs, and what reads it.
func place(t *testing.T) (path string, files func(criteria ...string) ([]File, []string)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "proof")
	must(t, os.Mkdir(path, 0o700))
	dir, err := os.OpenRoot(path)
	must(t, err)
	t.Cleanup(func() { _ = dir.Close() })
	secret := json.RawMessage(`"hunter2hunter2"`)
	return path, func(criteria ...string) ([]File, []string) {
		return Reader{Acceptance: criteria, Secret: redact.New(secret), Search: redact.NewSearch(secret)}.Files(dir)
	}
}

func write(t *testing.T, path, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(path, name), []byte(text), 0o600))
}

// Files are proofs of the criteria that they are named for, in their order, without secrets.
func TestFilesAreNamedForCriteria(t *testing.T) {
	path, files := place(t)
	for name, text := range map[string]string{"1.png": "\x89PNG\xff", "2-report.txt": "ok hunter2hunter2\n", "01 log": "log", "10.txt": "ten", "2": "two"} {
		write(t, path, name, text)
	}
	found, left := files("It adds.", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	var got []string
	for _, f := range found {
		got = append(got, f.Criterion+" "+f.Title+" "+string(f.Content))
	}
	if want := []string{"It adds. 01 log log", "It adds. 1.png \x89PNG\xff", "b 2 two", "b 2-report.txt ok [secret]\n", "j 10.txt ten"}; !slices.Equal(got, want) || len(left) > 0 {
		t.Errorf("the proofs are %q, left out %q", got, left)
	}
}

// What is no file for a criterion is left out, with a sentence, whatever the command has put there.
func TestHostileFilesAreLeftOut(t *testing.T) {
	path, files := place(t)
	must(t, os.Symlink("/etc/passwd", filepath.Join(path, "1-link")))
	must(t, os.Symlink("1.txt", filepath.Join(path, "1-inside")))
	must(t, syscall.Mkfifo(filepath.Join(path, "1-pipe"), 0o600))
	must(t, os.Mkdir(filepath.Join(path, "1-dir"), 0o700))
	sparse, err := os.Create(filepath.Join(path, "1-sparse"))
	must(t, err)
	must(t, sparse.Truncate(1<<30))
	must(t, sparse.Close())
	for name, text := range map[string]string{"1.txt": "good", "report.txt": "x", "0.txt": "x", "2.txt": "x", "999.txt": "x", "1-empty": "",
		"1-secret.png": "\xffhunter2hunter2", "-rf": "x", "1-\x1b[31m\u202e\xff\n": "odd"} {
		write(t, path, name, text)
	}
	found, left := files("It adds.")
	var titles []string
	for _, f := range found {
		titles = append(titles, f.Title)
	}
	if want := []string{"1-?[31m???", "1.txt"}; !slices.Equal(titles, want) || string(found[1].Content) != "good" {
		t.Errorf("the proofs are %q", titles)
	}
	all := strings.Join(left, "\n")
	for _, want := range []string{"-rf is left out: its name does not begin with the number of a criterion.", "1-dir is left out: it is no regular file.",
		"1-link is left out: it is no regular file.", "1-pipe is left out: it is no regular file.", "1-sparse is left out: a proof has at most 8 MB.",
		"1-secret.png is left out: the value of a secret stands in it.", "1-empty is left out: it is empty.", "2.txt is left out: the job has 1 criteria."} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q: %s", want, all)
		}
	}
	if strings.ContainsAny(all, "\x1b\u202e") || strings.Contains(all, "root:") || len(left) != 12 {
		t.Errorf("it says %q", all)
	}
}

// The directory may be replaced by a link to another one, or be gone: the one that was opened is read.
func TestAReplacedDirectoryIsNotFollowed(t *testing.T) {
	path, files := place(t)
	must(t, os.RemoveAll(path))
	elsewhere := t.TempDir()
	write(t, elsewhere, "1.txt", "elsewhere")
	must(t, os.Symlink(elsewhere, path))
	if found, left := files("It adds."); len(found)+len(left) > 0 {
		t.Errorf("it reads %+v, %q", found, left)
	}
}

// There are bounds of the number and of all bytes.
func TestProofsAreBounded(t *testing.T) {
	path, files := place(t)
	for i := range 60 {
		write(t, path, "1-"+strings.Repeat("x", i), "x")
	}
	if found, left := files("It adds."); len(found) != 50 || len(left) != 10 || !strings.Contains(left[0], "there are 50 proofs already") {
		t.Errorf("there are %d, left out %q", len(found), left)
	}
	path, files = place(t)
	big := bytes.Repeat([]byte("x"), MaxFile)
	for _, name := range []string{"1a", "1b", "1c", "1d", "1e"} {
		write(t, path, name, string(big))
	}
	if found, left := files("It adds."); len(found) != 4 || len(left) != 1 || !strings.Contains(left[0], "1e is left out: all proofs have at most 32 MB together") {
		t.Errorf("there are %d, left out %q", len(found), left)
	}
}
