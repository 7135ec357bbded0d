package autoapprove

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

const (
	// MaxPatch is how many bytes of a patch are read.
	MaxPatch = 200_000
	// maxWide is how many bytes a line of it may have.
	maxWide = 1000
	// maxUnread bounds what is listed of what was not read.
	maxUnread = 10
)

// The modes of files that are approved.
const (
	modeFile    = 0o100644
	modeProgram = 0o100755
)

// Change is what a patch does, as far as it was read.
type Change struct {
	Paths []string // in their order
	Lines int      // added and removed
	// Unread says why a person has to look, a phrase each; at most maxUnread.
	Unread []string
}

// Read reads a patch as git prints it. All that is not the plain change of a plain file is in Unread.
func Read(patch string) Change {
	var c Change
	switch {
	case patch == "":
		c.refuse("there is no patch")
		return c
	case len(patch) > MaxPatch:
		c.refuse("the patch is longer than is read")
		return c
	case !utf8.ValidString(patch):
		c.refuse("the patch is no text in UTF-8")
		return c
	}
	files, _, err := gitdiff.Parse(strings.NewReader(patch))
	if err != nil || len(files) == 0 {
		c.refuse("the patch cannot be read whole")
		return c
	}
	if !isWhole(patch, files) {
		c.refuse("the patch says more than was read")
	}
	seen := map[string]bool{}
	for _, f := range files {
		path := cmp.Or(f.NewName, f.OldName)
		if seen[foldPath(path)] {
			c.refuse("%s is there twice", shorten(path))
		}
		seen[foldPath(path)] = true
		c.Paths = append(c.Paths, path)
		if f.OldName != "" && f.OldName != path {
			c.Paths = append(c.Paths, f.OldName)
		}
		c.readFile(path, f)
	}
	slices.Sort(c.Paths)
	return c
}

func (c *Change) refuse(format string, args ...any) {
	if len(c.Unread) < maxUnread {
		c.Unread = append(c.Unread, fmt.Sprintf(format, args...))
	}
}

func (c *Change) readFile(path string, f *gitdiff.File) {
	if why := checkPath(path); why != "" {
		c.refuse("%s %s", shorten(path), why)
	}
	switch {
	case f.IsRename || f.IsCopy || f.OldName != "" && f.NewName != "" && f.OldName != f.NewName:
		c.refuse("%s is moved or copied", shorten(path))
	case f.IsBinary || f.BinaryFragment != nil:
		c.refuse("%s is no text", shorten(path))
	case !hasPlainMode(f):
		c.refuse("%s is no plain file, or becomes another kind of one", shorten(path))
	case len(f.TextFragments) == 0:
		c.refuse("%s has no lines that could be read", shorten(path))
	}
	for _, part := range f.TextFragments {
		c.Lines += int(part.LinesAdded + part.LinesDeleted)
		for _, line := range part.Lines {
			if strings.HasPrefix(line.Line, "version https://git-lfs") {
				c.refuse("%s stands for a large file that is elsewhere", shorten(path))
				return
			}
			if !isReadable(line.Line) {
				c.refuse("%s has a line that shows other than it is", shorten(path))
				return
			}
		}
	}
}

// hasPlainMode reports whether a file is no link, no submodule, and as executable as it was.
func hasPlainMode(f *gitdiff.File) bool {
	switch {
	case f.IsNew:
		return f.NewMode == modeFile
	case f.IsDelete:
		return f.OldMode == modeFile
	}
	return f.NewMode == 0 && (f.OldMode == modeFile || f.OldMode == modeProgram)
}

// isReadable reports whether a line shows what it is: not too wide, without characters that hide or reorder.
func isReadable(line string) bool {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if len(line) > maxWide {
		return false
	}
	for _, r := range line {
		if r != '\t' && !unicode.IsGraphic(r) || r == unicode.ReplacementChar || isBlank(r) {
			return false
		}
	}
	return true
}

// isBlank reports whether a letter shows as nothing.
func isBlank(r rune) bool {
	return r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0 || r == 0x2800 || unicode.Is(unicode.Variation_Selector, r)
}

// isWhole reports whether what was read, written again, is the patch: nothing stood between the files that was
// passed over. How the beginning of a part is written may differ.
func isWhole(patch string, files []*gitdiff.File) bool {
	var again strings.Builder
	for _, f := range files {
		again.WriteString(f.String())
	}
	was, now := strings.Split(patch, "\n"), strings.Split(again.String(), "\n")
	return slices.EqualFunc(was, now, func(a, b string) bool {
		return a == b || strings.HasPrefix(a, "@@ -") && strings.HasPrefix(b, "@@ -")
	})
}

// shorten returns a path as it is shown, without what it could hide.
func shorten(path string) string {
	text := strings.Trim(fmt.Sprintf("%+q", path), `"`)
	if len(text) > 80 {
		return text[:79] + "…"
	}
	return text
}
