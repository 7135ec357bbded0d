package job

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/job"
)

// graphOf returns a graph in short: "A>B" is B that waits for A, "A~B" is A that is
// part of B, "A=B" is A that is the same as B. The first one is the page's job.
func graphOf(text string) jobs.Graph {
	var g jobs.Graph
	seen := map[string]bool{}
	add := func(key string) {
		if !seen[key] {
			seen[key] = true
			g.Nodes = append(g.Nodes, jobs.Node{Key: key, Title: "Title of " + key, Status: jobs.Ready})
		}
	}
	for word := range strings.FieldsSeq(text) {
		a, b := word[:1], word[len(word)-1:]
		add(a)
		add(b)
		switch word[1:] {
		case ">" + b:
			g.Edges = append(g.Edges, jobs.Edge{Job: b, DependsOn: a, Type: jobs.Blocks})
		case "~" + b:
			g.Edges = append(g.Edges, jobs.Edge{Job: a, DependsOn: b, Type: jobs.Parent})
		case "=" + b:
			g.Edges = append(g.Edges, jobs.Edge{Job: a, DependsOn: b, Type: jobs.Duplicates})
		}
	}
	return g
}

// layersOf writes the boxes from left to right, those of a layer from top to
// bottom.
func layersOf(g *view.Graph) string {
	layers := map[int][]view.GraphBox{}
	last := 0
	for _, b := range g.Boxes {
		at := (b.X - margin) / (boxWidth + layerGap)
		layers[at], last = append(layers[at], b), max(last, at)
	}
	var out []string
	for i := range last + 1 {
		var keys string
		for len(layers[i]) > 0 {
			top := 0
			for j, b := range layers[i] {
				if b.Y < layers[i][top].Y {
					top = j
				}
			}
			keys += layers[i][top].Key
			layers[i] = append(layers[i][:top], layers[i][top+1:]...)
		}
		out = append(out, keys)
	}
	return strings.Join(out, " ")
}

func TestGraphsAreLayeredFromLeftToRight(t *testing.T) {
	for name, c := range map[string]struct{ graph, want string }{
		"a job alone":                   {"B", ""},
		"a chain":                       {"B A>B B>C", "A B C"},
		"a diamond":                     {"D A>B A>C B>D C>D", "A BC D"},
		"the longest path counts":       {"C A>B B>C A>C", "A B C"},
		"a late start stands close":     {"D A>B B>C C>D E>D", "A B CE D"},
		"crossings are undone":          {"X A>C B>D A>X B>X", "AB CXD"},
		"a child is left of its parent": {"P C~P D~P", "CD P"},
		"the same is drawn after":       {"B A>B C=B", "A B C"},
		"a circle ends somewhere":       {"A A>B B>C C>A", "A B C"},
		"two on one another":            {"A A>B B>A", "A B"},
	} {
		g := graphModel(graphOf(c.graph))
		if c.want == "" {
			if g != nil {
				t.Errorf("%s: %+v, want no picture", name, g)
			}
			continue
		}
		if got := layersOf(g); got != c.want {
			t.Errorf("%s: %s gives %q, want %q", name, c.graph, got, c.want)
		}
		if diff := cmp.Diff(g, graphModel(graphOf(c.graph))); diff != "" {
			t.Errorf("%s is drawn differently the second time: %s", name, diff)
		}
	}
}

// The heads of the arrows: a dependency points at what waits, a duplicate at its
// original.
func TestArrowsPointAsTheLinksRead(t *testing.T) {
	g := graphModel(graphOf("B A>B C=B D~B"))
	got := map[string]bool{}
	for _, e := range g.Edges {
		got[e.Kind] = e.Back
	}
	if diff := cmp.Diff(map[string]bool{"blocks": false, "duplicates": true, "parent": false}, got); diff != "" {
		t.Error(diff)
	}
	var rows []string
	for _, r := range g.Rows {
		rows = append(rows, r.From+" "+r.Verb+" "+r.To)
	}
	if got := strings.Join(rows, "; "); got != "B waits for A; C is the same as B; D is part of B" {
		t.Errorf("in words: %s", got)
	}
}

// The largest graph that a page shows is drawn within its frame, no box on
// another.
func TestLargeGraphsAreDrawnWithoutOverlap(t *testing.T) {
	var g jobs.Graph
	for i := range 100 {
		g.Nodes = append(g.Nodes, jobs.Node{Key: fmt.Sprint("FB-", i), Status: jobs.Waiting})
		for _, back := range []int{1, 7, 31} {
			if i >= back {
				g.Edges = append(g.Edges, jobs.Edge{Job: fmt.Sprint("FB-", i), DependsOn: fmt.Sprint("FB-", i-back), Type: jobs.Blocks})
			}
		}
	}
	g.More = true
	m := graphModel(g)
	if m.Note == "" {
		t.Error("nothing says that there are more jobs")
	}
	for i, a := range m.Boxes {
		if a.X < 0 || a.Y < 0 || a.X+boxWidth > m.Width || a.Y+boxHeight > m.Height {
			t.Errorf("%s at %d, %d is outside of %d by %d", a.Key, a.X, a.Y, m.Width, m.Height)
		}
		for _, b := range m.Boxes[i+1:] {
			if a.X < b.X+boxWidth && b.X < a.X+boxWidth && a.Y < b.Y+boxHeight && b.Y < a.Y+boxHeight {
				t.Errorf("%s lies on %s", a.Key, b.Key)
			}
		}
	}
}
