package patches

import (
	"fmt"
	"os"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Side is the state of a file that a line belongs to: before the change or after it.
type Side string

// The sides.
const (
	Old Side = "old"
	New Side = "new"
)

// Patch is the files of a patch, in their order.
type Patch struct{ Files []File }

// File is what a patch does to one file.
type File struct {
	Old, New         string // its paths, "" where it is not there
	OldMode, NewMode string // such as 100644, "" where they are not said
	OldSum, NewSum   string // the beginnings of what git calls its contents, "" where they are not said
	Copied           bool
	Binary           bool
	Broken           bool // some of it could not be read
	Hunks            []Hunk
	Added, Deleted   int
}

// Hunk is a part of a file.
type Hunk struct {
	OldAt, OldCount, NewAt, NewCount int
	Section                          string // what it stands in, such as a function
	Lines                            []Line
}

// Line is a line of a hunk. Its number is 0 on a side on which it is not.
type Line struct {
	Old, New int
	Text     string // without the end of the line
	Open     bool   // no end of a line follows it in its file
}

// Path returns by which path a file is known: the later one.
func (f File) Path() string {
	if f.New != "" {
		return f.New
	}
	return f.Old
}

// Renamed reports whether the file has another path than before.
func (f File) Renamed() bool { return f.Old != "" && f.New != "" && f.Old != f.New && !f.Copied }

// begins is how each file of a patch begins. No line of a hunk does: those begin with a mark.
const begins = "diff --git "

// Read reads a patch. What could be read of a file that is damaged or cut off is there, and the file is Broken. Text that
// is no patch is one without files.
func Read(text string) Patch {
	var p Patch
	for part := range splitFiles(text) {
		if f, ok := readFile(part); ok {
			p.Files = append(p.Files, f)
		}
	}
	return p
}

// splitFiles gives the part of each file. What stands before the first is left out, unless it is a patch of
// another program, which has no line of git's.
func splitFiles(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		at := 0
		if !strings.HasPrefix(text, begins) {
			next := strings.Index(text, "\n"+begins)
			if next < 0 {
				if strings.HasPrefix(text, "--- ") {
					yield(text)
				}
				return
			}
			at = next + 1
		}
		for at < len(text) {
			end := strings.Index(text[at:], "\n"+begins)
			if end < 0 {
				yield(text[at:])
				return
			}
			if !yield(text[at : at+end+1]) {
				return
			}
			at += end + 1
		}
	}
}

// maxHead is how many bytes of a part may stand before its first hunk, where that is damaged.
const maxHead = 16 << 10

// readFile reads the part of one file; where it is damaged, hunk by hunk.
func readFile(part string) (File, bool) {
	if files, _, err := gitdiff.Parse(strings.NewReader(part)); err == nil && len(files) == 1 {
		return convert(files[0]), true
	}
	at := strings.Index(part, "\n@@ ")
	if at < 0 || at > maxHead {
		return readName(part)
	}
	head := part[:at]
	f, known := File{}, false
	for hunk := range strings.SplitSeq(part[at+1:], "\n@@ ") {
		hunk = "@@ " + strings.TrimPrefix(hunk, "@@ ") + "\n"
		files, _, err := gitdiff.Parse(strings.NewReader(head + "\n" + hunk))
		if err != nil || len(files) != 1 {
			continue
		}
		if one := convert(files[0]); !known {
			f, known = one, true
		} else {
			f.Hunks, f.Added, f.Deleted = append(f.Hunks, one.Hunks...), f.Added+one.Added, f.Deleted+one.Deleted
		}
	}
	if !known {
		return readName(part)
	}
	f.Broken = true
	return f, true
}

// readName returns a file of which only the beginning was understood.
func readName(part string) (File, bool) {
	line, _, _ := strings.Cut(part, "\n")
	_, path, ok := strings.Cut(line, " b/")
	if !ok || path == "" {
		return File{}, false
	}
	return File{Old: path, New: path, Broken: true}, true
}

func convert(g *gitdiff.File) File {
	f := File{Old: cleanPath(g.OldName), New: cleanPath(g.NewName), OldMode: writeMode(g.OldMode), NewMode: writeMode(g.NewMode),
		OldSum: g.OldOIDPrefix, NewSum: g.NewOIDPrefix, Copied: g.IsCopy, Binary: g.IsBinary || g.BinaryFragment != nil}
	if g.IsNew {
		f.Old = ""
	}
	if g.IsDelete {
		f.New = ""
	}
	for _, part := range g.TextFragments {
		h := Hunk{OldAt: int(part.OldPosition), OldCount: int(part.OldLines), NewAt: int(part.NewPosition), NewCount: int(part.NewLines),
			Section: strings.TrimSpace(part.Comment), Lines: make([]Line, 0, len(part.Lines))}
		before, after := h.OldAt, h.NewAt
		for _, l := range part.Lines {
			text, ended := strings.CutSuffix(l.Line, "\n")
			line := Line{Text: text, Open: !ended}
			if l.Op != gitdiff.OpAdd {
				line.Old, before = before, before+1
			}
			if l.Op != gitdiff.OpDelete {
				line.New, after = after, after+1
			}
			h.Lines = append(h.Lines, line)
		}
		f.Added, f.Deleted = f.Added+int(part.LinesAdded), f.Deleted+int(part.LinesDeleted)
		f.Hunks = append(f.Hunks, h)
	}
	return f
}

func writeMode(m os.FileMode) string {
	if m == 0 {
		return ""
	}
	return fmt.Sprintf("%06o", uint32(m))
}

// Number returns the number of a line on a side, 0 where it is not there.
func (l Line) Number(s Side) int {
	if s == Old {
		return l.Old
	}
	return l.New
}

// On returns the path of a file on a side, "" where it is not there.
func (f File) On(s Side) string {
	if s == Old {
		return f.Old
	}
	return f.New
}

// Find returns the file that has a path on a side.
func (p Patch) Find(path string, s Side) (File, bool) {
	for _, f := range p.Files {
		if f.On(s) == path && path != "" {
			return f, true
		}
	}
	return File{}, false
}

// Text returns a line of a file, if the patch shows it.
func (f File) Text(s Side, number int) (text string, shown bool) {
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if n := l.Number(s); n == number && n > 0 {
				return l.Text, true
			}
		}
	}
	return "", false
}

// cleanPath returns a path as text: what is none in UTF-8 shows as such.
func cleanPath(path string) string { return strings.ToValidUTF8(path, "\uFFFD") }
