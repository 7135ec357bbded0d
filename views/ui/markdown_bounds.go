package ui

import (
	"bytes"
	"errors"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The work of goldmark grows with the square of these, so each has a bound. Text
// beyond one is shown as it was typed.
const (
	// maxNesting bounds quotes and lists inside one another; a list and its item are two.
	maxNesting = 32
	// maxBlocks bounds paragraphs, items, headings and whatever else has lines of its own,
	// maxContinued how often a line goes on in a quote or a list, each by itself.
	maxBlocks    = 20_000
	maxContinued = 200_000
	// maxMarked bounds the characters that may begin or end emphasis, a link, code or a tag,
	// each times the bytes of its paragraph, heading or cell.
	maxMarked = 32 << 20
	// maxCells bounds the cells of all tables: short rows are filled up.
	maxCells = 20_000
	// maxDefined bounds the names of links that follow one another, times their bytes.
	maxDefined = 64 << 20
	// maxMarkup bounds the markup, in bytes: a link's address is written out each time
	// that its name is used.
	maxMarkup = 1 << 20
)

// bounds is what the parsing of one text has used so far.
type bounds struct {
	blocks    int
	continued int
	block     ast.Node // whose marks are read, and its bytes
	size      int
	marked    int
	cells     int
	linked    int // bytes of the addresses and titles of links
	exceeded  bool
}

var boundsKey = parser.NewContextKey()

func findBounds(pc parser.Context) *bounds {
	b, ok := pc.Get(boundsKey).(*bounds)
	if !ok {
		b = &bounds{}
		pc.Set(boundsKey, b)
	}
	return b
}

// mark counts a mark of a block, and reports whether it may be looked at.
func (b *bounds) mark(block ast.Node) bool {
	if b.exceeded {
		return false
	}
	if b.block != block {
		b.block, b.size = block, 0
		for i := range block.Lines().Len() {
			at := block.Lines().At(i)
			b.size += at.Len()
		}
	}
	b.marked += b.size
	b.exceeded = b.marked > maxMarked
	return !b.exceeded
}

// link counts a link's address and title.
func (b *bounds) link(l *ast.Link) {
	b.linked += len(l.Destination) + len(l.Title)
	b.exceeded = b.exceeded || b.linked > maxMarkup
}

// bounded wraps goldmark's parsers.
func bounded(list []util.PrioritizedValue) []util.PrioritizedValue {
	wrapped := make([]util.PrioritizedValue, 0, len(list))
	for _, one := range list {
		switch p := one.Value.(type) {
		case parser.InlineParser:
			one.Value = marks{p}
		case parser.BlockParser:
			one.Value = blocks{p, p == parser.NewListParser() || p == parser.NewBlockquoteParser()}
		}
		wrapped = append(wrapped, one)
	}
	return wrapped
}

// blocks is a parser of blocks within maxBlocks, of quotes and lists also within maxNesting
// and maxContinued.
type blocks struct {
	parser.BlockParser
	nests bool
}

// Open is called by goldmark where a block may begin. A list without an item, or text
// without a paragraph, would break it: those go on, and end with the block around them.
func (p blocks) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	b := findBounds(pc)
	if p.nests && (b.exceeded || len(pc.OpenedBlocks()) >= maxNesting) {
		b.exceeded = true
		return nil, parser.NoChildren
	}
	node, state := p.BlockParser.Open(parent, reader, pc)
	if node != nil {
		b.blocks++
		b.exceeded = b.exceeded || b.blocks > maxBlocks
	}
	return node, state
}

// Continue is called by goldmark for each further line.
func (p blocks) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	if p.nests {
		b := findBounds(pc)
		b.continued++
		if b.exceeded = b.exceeded || b.continued > maxContinued; b.exceeded {
			return parser.Close
		}
	}
	return p.BlockParser.Continue(node, reader, pc)
}

// marks is a parser of inline text within maxMarked.
type marks struct{ parser.InlineParser }

// Parse is called by goldmark at each mark.
func (m marks) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if !findBounds(pc).mark(parent) {
		return nil
	}
	return m.InlineParser.Parse(parent, block, pc)
}

// CloseBlock is called by goldmark at the end of a block.
func (m marks) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if closer, ok := m.InlineParser.(parser.CloseBlocker); ok {
		closer.CloseBlock(parent, block, pc)
	}
}

// paragraphs empties a paragraph that would become a table beyond maxCells or names of
// links beyond maxDefined.
type paragraphs struct{}

// Transform is called by goldmark for every paragraph, before it looks for tables and names.
func (paragraphs) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines, columns, names, size := node.Lines(), 0, 0, 0
	for i := range lines.Len() {
		at := lines.At(i)
		line := bytes.TrimSpace(at.Value(reader.Source()))
		size += at.Len()
		names += bytes.Count(line, []byte("]:"))
		if len(bytes.Trim(line, "|:- \t")) == 0 {
			columns = max(columns, bytes.Count(line, []byte("|"))+1)
		}
	}
	b := findBounds(pc)
	if columns > 1 {
		b.cells += columns * lines.Len()
	}
	if b.exceeded = b.exceeded || b.cells > maxCells || names*size > maxDefined; b.exceeded {
		node.SetLines(text.NewSegments())
	}
}

// errTooMuch ends the rendering of a text with too much markup.
var errTooMuch = errors.New("the markup is too long")

// page is the markup of a text, up to maxMarkup.
type page struct{ markup bytes.Buffer }

// Write adds to the markup.
func (p *page) Write(more []byte) (int, error) {
	if p.markup.Len()+len(more) > maxMarkup {
		return 0, errTooMuch
	}
	return p.markup.Write(more)
}
