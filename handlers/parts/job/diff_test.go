package job

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	view "github.com/fleetboard/fleetboard/views/jobparts"
)

const sampleDiff = `diff --git a/internal/fleet/drain.go b/internal/fleet/drain.go
index 1f2e3d4..5c6b7a8 100644
--- a/internal/fleet/drain.go
+++ b/internal/fleet/drain.go
@@ -41,4 +41,5 @@ func (s *Service) Drain(
 	f, err := s.factory()
-	s.leases.ReleaseAll()
+	// No new claims from now on.
+	s.setState()
 	return err

diff --git a/notes.txt b/notes.txt
new file mode 100644
--- /dev/null
+++ b/notes.txt
@@ -0,0 +1 @@
+-- this line begins with dashes
\ No newline at end of file
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
`

func TestDiffsAreRead(t *testing.T) {
	files, _ := parseDiff(sampleDiff)
	var got []string
	for _, f := range files {
		got = append(got, fmt.Sprintf("%s %s +%d -%d %d", f.Path, f.Note, f.Added, f.Deleted, len(f.Lines)))
	}
	want := "internal/fleet/drain.go  +2 -1 7; notes.txt new +1 -0 2; logo.png binary +0 -0 0"
	if text := strings.Join(got, "; "); text != want {
		t.Fatalf("got %s\nwant %s", text, want)
	}
	for i, want := range []view.DiffLine{
		{Kind: view.DiffHead, Text: "func (s *Service) Drain("},
		{Kind: view.DiffSame, Old: "41", New: "41", Text: "    f, err := s.factory()"},
		{Kind: view.DiffDeleted, Old: "42", Text: "    s.leases.ReleaseAll()"},
		{Kind: view.DiffAdded, New: "42", Text: "    // No new claims from now on."},
		{Kind: view.DiffAdded, New: "43", Text: "    s.setState()"},
		{Kind: view.DiffSame, Old: "43", New: "44", Text: "    return err"},
	} {
		if !reflect.DeepEqual(files[0].Lines[i], want) {
			t.Errorf("line %d is %+v, want %+v", i, files[0].Lines[i], want)
		}
	}
	if text := files[1].Lines[1].Text; text != "-- this line begins with dashes" {
		t.Errorf("the line with dashes is %q", text)
	}
}

// A page has space for so many lines; the rest is counted.
func TestLongDiffsAreCut(t *testing.T) {
	files, _ := parseDiff("+++ b/a\n@@ -0,0 +1,5000 @@\n" + strings.Repeat("+"+strings.Repeat("x", 1000)+"\n", 5000))
	if len(files) != 1 || files[0].Added != 5000 || !files[0].Cut || len(files[0].Lines) != maxDiffLines {
		t.Fatalf("%d files, %d lines added, %d shown", len(files), files[0].Added, len(files[0].Lines))
	}
	if n := len([]rune(files[0].Lines[1].Text)); n > maxDiffWidth+1 {
		t.Errorf("a line of %d characters is shown", n)
	}
}

// The change is shown with what is there of it.
func TestChangesAreFoundInResults(t *testing.T) {
	for result, want := range map[string]string{
		`{}`:                            "none",
		`null`:                          "none",
		`[1]`:                           "none",
		`{"diff": 7, "files": {"a":1}}`: "none",
		`{"files_changed": 3, "insertions": 40, "deletions": 2}`:              "3 files +40 -2: ",
		`{"files_changed": ["a.go", "b.go"]}`:                                 "2 files: a.go b.go",
		`{"files": [{"path": "a.go", "additions": 3}]}`:                       "none",
		`{"diff": {"files_changed": 14, "insertions": 412, "deletions": 97}}`: "14 files +412 -97: ",
		`{"insertions": -4, "deletions": 1e300}`:                              "none",
		`{"diff": ` + quoted(sampleDiff) + `, "insertions": 9}`:               "3 files +9 -0: internal/fleet/drain.go notes.txt logo.png",
		`{"diff": ` + quoted(sampleDiff) + `}`:                                "3 files +3 -1: internal/fleet/drain.go notes.txt logo.png",
	} {
		got := "none"
		if c := ParseChanges(json.RawMessage(result)); c != nil {
			got = fmt.Sprint(c.Count, " files")
			if c.Counted {
				got += fmt.Sprintf(" +%d -%d", c.Added, c.Deleted)
			}
			got += ":"
			for _, f := range c.Files {
				got += " " + f.Path
			}
			if len(c.Files) == 0 {
				got += " "
			}
		}
		if got != want {
			t.Errorf("%.60s gives %q, want %q", result, got, want)
		}
	}
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Nothing that an agent sends breaks the reading of its change.
func FuzzChanges(f *testing.F) {
	for _, seed := range []string{`{"diff":"+++ b/a\n@@ -1,2 +1,2 @@\n"}`, `{"diff":"@@ -9999999999999999999 +1 @@"}`, `{"files":[[]]}`, quoted(sampleDiff)} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, result string) {
		ParseChanges(json.RawMessage(result))
		_, _ = parseDiff(result)
	})
}
