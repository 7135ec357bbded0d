package floors

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// formats finds calls of Format that write a time in words: those of a program's format, for the
// value of an attribute or a file, name it.
var formats = regexp.MustCompile(`\.(Format|AppendFormat)\(([^()]*)\)`)

var programFormats = regexp.MustCompile(`^(time\.RFC3339(Nano)?|time\.DateOnly|key)$`)

// elsewhere are files that write times for no page: views/ui/when.go is the one place for them, and
// the log of a job is a file of text too.
var elsewhere = map[string]bool{
	"views/ui/when.go":         true,
	"handlers/job/log_text.go": true,
}

// Times on pages are written by views/ui/when.go, so that they are in the reader's zone and language
// and look the same everywhere.
func TestPagesWriteTimesInOnePlace(t *testing.T) {
	const root = "../../.."
	for _, folder := range []string{"views", "handlers"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			name, relErr := filepath.Rel(root, path)
			name = filepath.ToSlash(name)
			code := strings.HasSuffix(name, ".templ") || strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_templ.go") &&
				!strings.HasSuffix(name, "_test.go")
			if failed := errors.Join(err, relErr); failed != nil || d.IsDir() || !code || elsewhere[name] {
				return failed
			}
			text, err := os.ReadFile(path)
			for _, call := range formats.FindAllSubmatch(text, -1) {
				if !programFormats.Match(call[2]) {
					t.Errorf("%s: %s: a page writes times by views/ui/when.go", name, call[0])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
