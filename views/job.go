package views

import (
	"fmt"
	"strconv"
	"strings"

	"fleetboard/views/ui"
)

func itoa64(n int64) string { return strconv.FormatInt(n, 10) }

// hasMore says that the menu of the top bar holds something on wide screens.
func (j Job) hasMore() bool {
	if len(j.Moves) > 0 {
		return true
	}
	for _, a := range j.Actions {
		if !a.Main {
			return true
		}
	}
	return false
}

func (j Job) hasCost() bool {
	for _, a := range j.Attempts {
		if a.Cost != "" {
			return true
		}
	}
	return false
}

// stripClass fits the strip to the number of its boxes; five is the default.
func stripClass(n int) string {
	if n == 5 {
		return ""
	}
	return "strip-n" + strconv.Itoa(n)
}

func beatClass(t ui.Tone) string {
	switch t {
	case ui.Warn:
		return "live-dot-warn"
	case ui.Bad:
		return "live-dot-bad"
	default:
		return ""
	}
}

func iconTone(t ui.Tone) string {
	switch t {
	case ui.OK:
		return "text-green"
	case ui.Warn:
		return "text-amber"
	case ui.Bad:
		return "text-red"
	default:
		return "text-faint"
	}
}

func (w Why) iconClass() string { return iconTone(w.Tone) }

// maxGraph is how many jobs the graph shows on each side.
const maxGraph = 5

type graphBox struct {
	at, key, title, href string
	status               ui.Status
}

type graphPicture struct {
	viewBox, label, more string
	nodes                []graphBox
	edges                []string
}

// graph lays the jobs out in three columns: before, this one, after. Boxes are
// 86 by 38, 52 apart from line to line, 113 from column to column.
func (j Job) graph() graphPicture {
	var before, after []JobLink
	for _, l := range j.Links {
		if l.Before {
			before = append(before, l)
		} else {
			after = append(after, l)
		}
	}
	hidden := max(0, len(before)-maxGraph) + max(0, len(after)-maxGraph)
	shownBefore, shownAfter := before[:min(len(before), maxGraph)], after[:min(len(after), maxGraph)]
	lines := max(len(shownBefore), len(shownAfter), 1)
	height := lines*52 - 6
	mid := float64(height-46) / 2
	g := graphPicture{viewBox: fmt.Sprintf("0 0 312 %d", height), label: graphLabel(j.Key, before, after)}
	if hidden > 0 {
		g.more = fmt.Sprintf("and %d more", hidden)
	}
	place := func(list []JobLink, x int, joinFrom bool) {
		top := float64(height-(len(list)*52-6)) / 2
		for i, l := range list {
			y := top + float64(i*52) + 4
			g.nodes = append(g.nodes, graphBox{
				at: fmt.Sprintf("translate(%d %.1f)", x, y), key: cut(l.Key, 9), title: cut(l.Title, 13),
				href: l.URL, status: l.Status,
			})
			if joinFrom {
				g.edges = append(g.edges, curve(86, y+19, 113, mid+23))
			} else {
				g.edges = append(g.edges, curve(199, mid+23, 226, y+19))
			}
		}
	}
	place(shownBefore, 0, true)
	g.nodes = append(g.nodes, graphBox{
		at: fmt.Sprintf("translate(113 %.1f)", mid+4), key: cut(j.Key, 9), title: "this job", status: j.Status,
	})
	place(shownAfter, 226, false)
	return g
}

func curve(x1, y1, x2, y2 float64) string {
	m := (x1 + x2) / 2
	return fmt.Sprintf("M%.0f %.1fC%.1f %.1f %.1f %.1f %.0f %.1f", x1, y1, m, y1, m, y2, x2, y2)
}

func graphLabel(key string, before, after []JobLink) string {
	name := func(list []JobLink) string {
		words := make([]string, len(list))
		for i, l := range list {
			words[i] = ui.Clean(l.Key) + ", " + strings.ToLower(l.Status.Word())
		}
		return strings.Join(words, "; ")
	}
	var parts []string
	if len(before) > 0 {
		parts = append(parts, "Before "+ui.Clean(key)+": "+name(before))
	}
	if len(after) > 0 {
		parts = append(parts, "After "+ui.Clean(key)+": "+name(after))
	}
	return strings.Join(parts, ". ") + "."
}

// cut shortens text to n letters.
func cut(s string, n int) string {
	r := []rune(ui.Clean(s))
	if len(r) <= n {
		return string(r)
	}
	return strings.TrimSpace(string(r[:n-1])) + "…"
}
