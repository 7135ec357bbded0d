package importing

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Item is a piece of work as a file has it.
type Item struct {
	Source    string   // which one it is, the same each time the file is read
	Title     string   // one line
	Body      string   // Markdown
	Kind      string   // empty where the file does not say
	Priority  *int     // 0 to 10, higher is sooner; nil where the file does not say
	Tags      []string // labels
	DependsOn []string // sources

	Acceptance       []string // criteria
	EstimatedMinutes *int     // nil where the file does not say
	URL              string   // where people read it, empty where the file does not say
	Held             string   // why nobody may begin now, empty where somebody may

	Done   bool   // closed or deleted
	Ending string // how it was done, empty where the file does not say
	Line   int    // where it begins in the file
}

// MaxFile and MaxLine are how large a file and a line of it may be, in bytes.
const (
	MaxFile = 64 << 20
	MaxLine = 1 << 20
)

// Readers are the formats by name.
var Readers = map[string]func(name string, from io.Reader) ([]Item, error){
	"beads": Beads, "github": GitHub, "markdown": Markdown,
}

// LineError says on which line a file cannot be read.
type LineError struct {
	Line int
	Why  string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d %s", e.Line, e.Why) }

// readAll reads a file without its byte order mark.
func readAll(from io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(from, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > MaxFile {
		return nil, fmt.Errorf("the file must have at most %d bytes", MaxFile)
	}
	return bytes.TrimPrefix(raw, []byte("\ufeff")), nil
}

// readLines returns the lines of a file, without their ends.
func readLines(from io.Reader) ([][]byte, error) {
	raw, err := readAll(from)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(raw, []byte("\n"))
	for i, line := range lines {
		if len(line) > MaxLine {
			return nil, &LineError{i + 1, fmt.Sprintf("must have at most %d bytes", MaxLine)}
		}
		lines[i] = bytes.TrimSuffix(line, []byte("\r"))
	}
	return lines, nil
}

// unique refuses a file that has the same source twice.
func unique(items []Item) ([]Item, error) {
	seen := map[string]int{}
	for _, one := range items {
		if first, ok := seen[one.Source]; ok {
			return nil, &LineError{one.Line, fmt.Sprintf("has %s again, which is on line %d", one.Source, first)}
		}
		seen[one.Source] = one.Line
	}
	return items, nil
}

// lineText returns a text on one line, without control characters.
func lineText(text string) string {
	return strings.Join(strings.Fields(bodyText(text)), " ")
}

// bodyText returns a text as the server keeps it: UTF-8, lines that end with a line feed, and no
// other control characters than tabs.
func bodyText(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text))
}

// texts returns the texts that have something on their line, each once.
func texts(all []string) []string {
	var kept []string
	for _, one := range all {
		if one = lineText(one); one != "" && !slices.Contains(kept, one) {
			kept = append(kept, one)
		}
	}
	return kept
}
