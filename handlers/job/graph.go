package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
)

// Measures of the picture, in pixels. Boxes are those of views/job/graph.templ.
const (
	boxWidth   = 168
	boxHeight  = 40
	lineHeight = 10 // of an edge that passes a layer
	layerGap   = 56
	rowGap     = 14
	margin     = 4
	// maxPassing is how many places the picture gives to edges that pass a layer;
	// with more of them edges are drawn straight, behind the boxes.
	maxPassing = 300
	// sweeps is how often the layers are put in order, forth and back.
	sweeps = 4
)

// place is where a box, or an edge that passes, stands in its layer.
type place struct {
	node   int // -1 for an edge that passes
	left   []*place
	right  []*place
	layer  int
	weight float64
	x, y   int
}

func (p *place) height() int {
	if p.node < 0 {
		return lineHeight
	}
	return boxHeight
}

// flow is an edge from left to right, and the places that it goes through.
type flow struct {
	from, to int
	edge     jobs.Edge
	back     bool // it is read from right to left
	loop     bool // it closes a circle, and counts for no layer
	through  []*place
}

// sketch is a graph on its way to a picture: layered by the longest path, each
// layer in the order of the middle of its neighbours.
type sketch struct {
	graph  jobs.Graph
	index  map[string]int
	flows  []flow
	layers [][]*place
	boxes  []*place
}

// graphModel draws a job's graph; nil where nothing is linked.
func graphModel(g jobs.Graph) *view.Graph {
	if len(g.Nodes) < 2 {
		return nil
	}
	s := newSketch(g)
	s.layer()
	s.route()
	s.order()
	m := &view.Graph{}
	m.Width, m.Height = s.measure()
	m.Boxes, m.Edges = s.drawn()
	m.Rows = s.words()
	m.Label = fmt.Sprintf("%s linked with %s by %s", web.Plural(len(g.Nodes)-1, "job is", "jobs are"), g.Nodes[0].Key,
		web.Plural(len(g.Edges), "link", "links"))
	if g.More {
		m.Note = "More jobs are linked than these"
	}
	return m
}

func newSketch(g jobs.Graph) *sketch {
	s := &sketch{graph: g, index: map[string]int{}}
	for i, n := range g.Nodes {
		s.index[n.Key] = i
		s.boxes = append(s.boxes, &place{node: i})
	}
	for _, e := range g.Edges {
		job, there := s.index[e.Job]
		other, too := s.index[e.DependsOn]
		if !there || !too || job == other {
			continue
		}
		f := flow{from: other, to: job, edge: e, back: e.Type != jobs.Blocks}
		if e.Type == jobs.Parent { // a child comes before what it is part of
			f.from, f.to, f.back = job, other, false
		}
		s.flows = append(s.flows, f)
	}
	slices.SortStableFunc(s.flows, func(a, b flow) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), strings.Compare(string(a.edge.Type), string(b.edge.Type)))
	})
	return s
}

// layer gives each box the length of the longest way to it. Edges that close a
// circle are found first and left out.
func (s *sketch) layer() {
	const unseen, open, done = 0, 1, 2
	state := make([]int, len(s.boxes))
	var visit func(n int)
	visit = func(n int) {
		state[n] = open
		for i, f := range s.flows {
			if f.from != n {
				continue
			}
			switch state[f.to] {
			case open:
				s.flows[i].loop = true
			case unseen:
				visit(f.to)
			}
		}
		state[n] = done
	}
	for n := range s.boxes {
		if state[n] == unseen {
			visit(n)
		}
	}
	for range s.boxes {
		for _, f := range s.flows {
			if !f.loop {
				s.boxes[f.to].layer = max(s.boxes[f.to].layer, s.boxes[f.from].layer+1)
			}
		}
	}
	s.closeUp()
}

// closeUp moves boxes that nothing leads to next to what they lead to.
func (s *sketch) closeUp() {
	for n, b := range s.boxes {
		nearest, first := -1, true
		for _, f := range s.flows {
			if f.loop {
				continue
			}
			if f.to == n {
				first = false
			}
			if f.from == n && (nearest < 0 || s.boxes[f.to].layer < nearest) {
				nearest = s.boxes[f.to].layer
			}
		}
		if first && nearest > 0 {
			b.layer = nearest - 1
		}
	}
}

// route gives edges a place in each layer that they pass.
func (s *sketch) route() {
	last := 0
	for _, b := range s.boxes {
		last = max(last, b.layer)
	}
	s.layers = make([][]*place, last+1)
	for _, b := range s.boxes {
		s.layers[b.layer] = append(s.layers[b.layer], b)
	}
	passing := 0
	for i := range s.flows {
		f := &s.flows[i]
		at, end := s.boxes[f.from], s.boxes[f.to]
		for l := at.layer + 1; l < end.layer && passing < maxPassing; l++ {
			p := &place{node: -1, layer: l}
			passing++
			s.layers[l] = append(s.layers[l], p)
			f.through = append(f.through, p)
			at = join(at, p)
		}
		if end.layer > f.start(s).layer {
			join(at, end)
		}
	}
}

func (f *flow) start(s *sketch) *place { return s.boxes[f.from] }

func join(a, b *place) *place {
	a.right, b.left = append(a.right, b), append(b.left, a)
	return b
}

// order puts each layer in the order of the middle of its neighbours, forth and
// back.
func (s *sketch) order() {
	for sweep := range sweeps {
		for i := range s.layers {
			layer := s.layers[i]
			near := func(p *place) []*place { return p.left }
			if sweep%2 == 1 {
				layer = s.layers[len(s.layers)-1-i]
				near = func(p *place) []*place { return p.right }
			}
			arrange(layer, near)
		}
	}
}

// arrange sorts a layer; places without neighbours keep theirs.
func arrange(layer []*place, near func(*place) []*place) {
	for at, p := range layer {
		if p.weight = float64(at); len(near(p)) > 0 {
			p.weight = 0
			for _, n := range near(p) {
				p.weight += float64(n.y)
			}
			p.weight /= float64(len(near(p)))
		}
	}
	slices.SortStableFunc(layer, func(a, b *place) int { return cmp.Compare(a.weight, b.weight) })
	for at, p := range layer {
		p.y = at
	}
}

// measure turns the order into coordinates: layers side by side, each in the
// middle of the height.
func (s *sketch) measure() (width, height int) {
	heights := make([]int, len(s.layers))
	for i, layer := range s.layers {
		heights[i] = -rowGap
		for _, p := range layer {
			heights[i] += p.height() + rowGap
		}
		height = max(height, heights[i])
	}
	for i, layer := range s.layers {
		y := margin + (height-heights[i])/2
		for _, p := range layer {
			p.x, p.y = margin+i*(boxWidth+layerGap), y
			y += p.height() + rowGap
		}
	}
	return len(s.layers)*(boxWidth+layerGap) - layerGap + 2*margin, height + 2*margin
}

func (s *sketch) drawn() ([]view.GraphBox, []view.GraphEdge) {
	var boxes []view.GraphBox
	for i, n := range s.graph.Nodes {
		boxes = append(boxes, view.GraphBox{X: s.boxes[i].x, Y: s.boxes[i].y, Key: n.Key, Title: n.Title, URL: links.Job(n.Key),
			Status: n.Status, Current: i == 0})
	}
	var edges []view.GraphEdge
	for _, f := range s.flows {
		edges = append(edges, view.GraphEdge{Path: s.path(f), Kind: string(f.edge.Type), Back: f.back})
	}
	return boxes, edges
}

// path returns a curve from box to box through the places that the edge has.
func (s *sketch) path(f flow) string {
	from, to := s.boxes[f.from], s.boxes[f.to]
	x, y := from.x+boxWidth, from.y+boxHeight/2
	out := fmt.Sprintf("M%d %d", x, y)
	curve := func(toX, toY int) {
		bend := max((toX-x)/2, layerGap/2)
		out += fmt.Sprintf("C%d %d %d %d %d %d", x+bend, y, toX-bend, toY, toX, toY)
		x, y = toX, toY
	}
	for _, p := range f.through {
		curve(p.x, p.y+lineHeight/2)
		x += boxWidth
		out += fmt.Sprintf("H%d", x)
	}
	curve(to.x, to.y+boxHeight/2)
	return out
}

// words says each link in a row.
func (s *sketch) words() []view.GraphRow {
	var rows []view.GraphRow
	for _, e := range s.graph.Edges {
		from, there := s.index[e.Job]
		to, too := s.index[e.DependsOn]
		if there && too {
			rows = append(rows, view.GraphRow{From: e.Job, FromURL: links.Job(e.Job),
				FromStatus: s.graph.Nodes[from].Status, Verb: edgeWords(e).there,
				To: e.DependsOn, ToURL: links.Job(e.DependsOn), ToStatus: s.graph.Nodes[to].Status})
		}
	}
	return rows
}
