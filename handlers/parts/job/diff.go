package job

import (
	"strconv"
	"strings"

	view "github.com/fleetboard/fleetboard/views/jobparts"
)

// Limits of a diff on a page. What goes beyond is counted and not shown.
const (
	maxDiffFiles = 200
	maxDiffLines = 1500
	maxDiffWidth = 400 // characters of a line
	maxConflicts = 20  // places with markers of a conflict
)

// diffReader reads a unified diff. It is an agent's text: whatever does not fit
// the format is left out, nothing fails.
type diffReader struct {
	files        []view.ChangedFile
	oldAt, newAt int
	oldLeft      int // lines of the hunk still to come
	newLeft      int
	lines        int
	conflicts    []string
}

// parseDiff reads the files of a unified diff, and where markers of conflicts were left; none
// where the text is not one.
func parseDiff(text string) (files []view.ChangedFile, conflicts []string) {
	var r diffReader
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		r.take(line)
	}
	return r.files, r.conflicts
}

func (r *diffReader) take(line string) {
	if r.oldLeft > 0 || r.newLeft > 0 {
		r.body(line)
		return
	}
	switch {
	case strings.HasPrefix(line, "diff --git "):
		_, path, _ := strings.Cut(line, " b/")
		r.open(path)
	case strings.HasPrefix(line, "+++ "):
		r.named(strings.TrimPrefix(line, "+++ "))
	case strings.HasPrefix(line, "new file mode"):
		r.note("new")
	case strings.HasPrefix(line, "deleted file mode"):
		r.note("deleted")
	case strings.HasPrefix(line, "rename from "):
		r.note("renamed")
	case strings.HasPrefix(line, "Binary files "):
		r.note("binary")
	case strings.HasPrefix(line, "--- ") && !r.fresh():
		r.open("")
	case strings.HasPrefix(line, "@@ "):
		r.hunk(line)
	}
}

// fresh reports whether the last file is still without a hunk.
func (r *diffReader) fresh() bool {
	return len(r.files) > 0 && r.files[len(r.files)-1].Added+r.files[len(r.files)-1].Deleted == 0
}

func (r *diffReader) open(path string) {
	r.files = append(r.files, view.ChangedFile{Path: path, Counted: true})
}

func (r *diffReader) last() *view.ChangedFile { return &r.files[len(r.files)-1] }

// named takes the path of the file as it is afterwards.
func (r *diffReader) named(path string) {
	path, _, _ = strings.Cut(path, "\t")
	if len(r.files) == 0 {
		r.open("")
	}
	if path != "/dev/null" {
		r.last().Path = strings.TrimPrefix(path, "b/")
	}
}

func (r *diffReader) note(word string) {
	if len(r.files) > 0 {
		r.last().Note = word
	}
}

// hunk begins a part: @@ -41,7 +41,10 @@ func (s *Service) Drain(
func (r *diffReader) hunk(line string) {
	at, section, ok := strings.Cut(strings.TrimPrefix(line, "@@ "), " @@")
	before, after, spaced := strings.Cut(at, " ")
	if !ok || !spaced || len(r.files) == 0 {
		return
	}
	r.oldAt, r.oldLeft = span(strings.TrimPrefix(before, "-"))
	r.newAt, r.newLeft = span(strings.TrimPrefix(after, "+"))
	r.show(view.DiffLine{Kind: view.DiffHead, Text: strings.TrimSpace(section)})
}

// span reads "41,7": the first line and how many there are.
func span(text string) (at, n int) {
	first, count, counted := strings.Cut(text, ",")
	at, err := strconv.Atoi(first)
	if err != nil || at < 0 {
		return 0, 0
	}
	if !counted {
		return at, 1
	}
	if n, err = strconv.Atoi(count); err != nil || n < 0 {
		return 0, 0
	}
	return at, n
}

func (r *diffReader) body(line string) {
	mark, text := byte(' '), ""
	if line != "" {
		mark, text = line[0], line[1:]
	}
	shown := view.DiffLine{Text: text}
	switch mark {
	case '+':
		shown.Kind, shown.New = view.DiffAdded, strconv.Itoa(r.newAt)
		r.last().Added++
		r.findConflict(text)
		r.newAt, r.newLeft = r.newAt+1, r.newLeft-1
	case '-':
		shown.Kind, shown.Old = view.DiffDeleted, strconv.Itoa(r.oldAt)
		r.last().Deleted++
		r.oldAt, r.oldLeft = r.oldAt+1, r.oldLeft-1
	case ' ':
		shown.Kind, shown.Old, shown.New = view.DiffSame, strconv.Itoa(r.oldAt), strconv.Itoa(r.newAt)
		r.oldAt, r.oldLeft = r.oldAt+1, r.oldLeft-1
		r.newAt, r.newLeft = r.newAt+1, r.newLeft-1
	case '\\': // no newline at the end of the file
		return
	default:
		r.oldLeft, r.newLeft = 0, 0
		r.take(line)
		return
	}
	r.show(shown)
}

// findConflict notes an added line that begins or ends a conflict.
func (r *diffReader) findConflict(text string) {
	if len(r.conflicts) < maxConflicts && (strings.HasPrefix(text, "<<<<<<< ") || strings.HasPrefix(text, ">>>>>>> ")) {
		r.conflicts = append(r.conflicts, r.last().Path+":"+strconv.Itoa(r.newAt))
	}
}

// show keeps a line as long as the page has space for it.
func (r *diffReader) show(line view.DiffLine) {
	if r.lines++; r.lines > maxDiffLines {
		r.last().Cut = true
		return
	}
	if runes := []rune(line.Text); len(runes) > maxDiffWidth {
		line.Text = string(runes[:maxDiffWidth]) + "…"
	}
	line.Text = strings.ReplaceAll(line.Text, "\t", "    ")
	r.last().Lines = append(r.last().Lines, line)
}
