package views

import "slices"

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

func (g Graph) viewBox() string { return "0 0 " + itoa(g.Width) + " " + itoa(g.Height) }

func (b GraphBox) at() string { return "translate(" + itoa(b.X) + " " + itoa(b.Y) + ")" }

// name is the box for those who do not see it: its words as they stand there,
// and its glyph in words.
func (b GraphBox) name() string { return b.shownKey() + " " + b.shownTitle() + ", " + b.Status.Word() }

func (b GraphBox) shownKey() string { return cut(b.Key, 18) }

func (b GraphBox) shownTitle() string { return cut(b.Title, 26) }
