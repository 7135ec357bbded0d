package job

import (
	"slices"
	"strconv"

	"github.com/fleetboard/fleetboard/views/ui"
)

// Graph is the picture of the jobs linked with one, from left to right in the
// order in which they are done. Lengths are in pixels.
type Graph struct {
	Width, Height int
	Label         string // the picture in a sentence
	Boxes         []GraphBox
	Edges         []GraphEdge
	Rows          []GraphRow // the same in words
	Note          string     // "There are more jobs than these"
}

// GraphBox is one job: its top left corner and what it says.
type GraphBox struct {
	X, Y       int
	Key, Title string
	URL        string
	Status     ui.Status
	Current    bool // the job of the page
}

// GraphEdge is one link. Its head is at the end of the path, or at its beginning
// where the link is read from right to left.
type GraphEdge struct {
	Path string
	Kind string // blocks, parent, ...: the class ends so
	Back bool
}

// GraphRow is one link in words: FB-2 is part of FB-1.
type GraphRow struct {
	From, FromURL string
	FromStatus    ui.Status
	Kind, Verb    string
	To, ToURL     string
	ToStatus      ui.Status
}

// Link is a link of the page's own job, which can be removed.
type Link struct {
	ID         string // in the page
	Verb       string // "waits for"
	Key, Title string
	URL        string
	Status     ui.Status
	RemoveURL  string // links.JobUnlink; "" for those who may not
	Other      string // the field other
	Type       string // the field type
}

// LinkForm adds a link. Search fills in Other.
type LinkForm struct {
	URL, SearchURL string
	Kinds          []ui.Option
}

// LinkOption is a job that was found to link with.
type LinkOption struct {
	Key, Title string
	Status     ui.Status
}

// graphKinds are the kinds of links in the order of the legend.
var graphKinds = []struct{ kind, words string }{
	{"blocks", "must be completed first"},
	{"parent", "is part of"},
	{"discovered_from", "was found in"},
	{"duplicates", "is the same as"},
	{"supersedes", "replaces"},
}

type legendLine struct{ kind, words string }

// legend names the kinds that the picture holds.
func (g Graph) legend() []legendLine {
	var list []legendLine
	for _, k := range graphKinds {
		if slices.ContainsFunc(g.Edges, func(e GraphEdge) bool { return e.Kind == k.kind }) {
			list = append(list, legendLine(k))
		}
	}
	return list
}

func (g Graph) viewBox() string { return "0 0 " + strconv.Itoa(g.Width) + " " + strconv.Itoa(g.Height) }

func (b GraphBox) at() string {
	return "translate(" + strconv.Itoa(b.X) + " " + strconv.Itoa(b.Y) + ")"
}

// name returns the box for those who do not see it: its words as they stand there,
// and its glyph in words.
func (b GraphBox) name() string { return b.shownKey() + " " + b.shownTitle() + ", " + b.Status.Word() }

func (b GraphBox) shownKey() string { return cut(b.Key, 18) }

func (b GraphBox) shownTitle() string { return cut(b.Title, 26) }
