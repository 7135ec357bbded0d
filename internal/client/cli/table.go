package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// table is rows of cells in columns that are as wide as their widest cell. Colour is put on
// after the widths are known. One column is narrowed where the terminal is narrow.
type table struct {
	s        *screen
	head     []string
	rows     [][]cell
	narrowed int // the column that is narrowed where a row is too long; -1 for none
}

// cell is a text and the colour that it has on a terminal.
type cell struct {
	text  string
	paint string
}

// Colours of cells, as SGR parameters.
const (
	plain  = ""
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
)

func (s *screen) table(head ...string) *table { return &table{s: s, head: head, narrowed: -1} }

// narrows chooses the column that is narrowed on a narrow terminal.
func (t *table) narrows(column string) *table {
	t.narrowed = slices.Index(t.head, column)
	return t
}

// row adds a row of texts and cells.
func (t *table) row(cells ...any) {
	row := make([]cell, len(cells))
	for i, one := range cells {
		switch one := one.(type) {
		case cell:
			row[i] = cell{cleanLine(one.text), one.paint}
		default:
			row[i] = cell{text: cleanLine(fmt.Sprint(one))}
		}
	}
	t.rows = append(t.rows, row)
}

func (t *table) print(w io.Writer) {
	widths := make([]int, len(t.head))
	for i, name := range t.head {
		widths[i] = utf8.RuneCountInString(name)
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	t.narrow(widths)
	head := make([]cell, len(t.head))
	for i, name := range t.head {
		head[i] = cell{name, dim}
	}
	t.line(w, head, widths)
	for _, row := range t.rows {
		t.line(w, row, widths)
	}
}

// narrow narrows the chosen column to what fits the terminal, but not below a minimum.
func (t *table) narrow(widths []int) {
	if t.narrowed < 0 || !t.s.env.Terminal || t.s.env.Width == nil {
		return
	}
	const least = 12
	room := t.s.env.Width()
	if room <= 0 {
		return
	}
	for _, width := range widths {
		room -= width + len(gap)
	}
	if room < 0 {
		widths[t.narrowed] = max(min(widths[t.narrowed], least), widths[t.narrowed]+room)
	}
}

const gap = "  "

func (t *table) line(w io.Writer, row []cell, widths []int) {
	var b strings.Builder
	for i, one := range row {
		text := cut(one.text, widths[i])
		b.WriteString(t.s.paint(text, one.paint))
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)) + gap)
		}
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
}

// cut shortens a text to a number of characters.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}

// paint colours a text where a person looks at a terminal that wants it.
func (s *screen) paint(text, colour string) string {
	if colour == plain || text == "" || !s.env.Terminal || s.noColor || s.env.Getenv("NO_COLOR") != "" || s.env.Getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
