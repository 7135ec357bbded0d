package graph

import (
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// named gives each letter of a test its own id, the same each time.
func named(letter byte) ids.ID {
	var id ids.ID
	id[0] = letter
	return id
}

// edgesOf reads "ab bc": a waits for b, b waits for c.
func edgesOf(text string) []Edge {
	var list []Edge
	for _, e := range strings.Fields(text) {
		list = append(list, Edge{named(e[0]), named(e[1])})
	}
	return list
}

func TestCycles(t *testing.T) {
	for name, c := range map[string]struct {
		edges string
		want  []string // the paths
		limit int
	}{
		"nothing":                        {"", nil, 10},
		"a line":                         {"ab bc cd", nil, 10},
		"two ways to one job":            {"ab ac bd cd", nil, 10},
		"two":                            {"ab ba", []string{"aba", "bab"}, 10},
		"three":                          {"ab bc ca", []string{"abca", "bcab", "cabc"}, 10},
		"a job that waits for a cycle":   {"xa ab ba", []string{"aba", "bab"}, 10},
		"a cycle that waits for a job":   {"ab ba bx", []string{"aba", "bab"}, 10},
		"a way from one to the other":    {"ab ba bx xc cd dc", []string{"aba", "bab", "cdc", "dcd"}, 10},
		"the shortest way back is given": {"ab bc cd da ca", []string{"abca", "bcab", "cabc", "dabcd"}, 10},
		"two through one job":            {"ab ba ac ca", []string{"aba", "bab", "cac"}, 10},
		"no more than asked for":         {"ab ba cd dc", []string{"aba", "bab", "cdc"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, path := range Cycles(edgesOf(c.edges), c.limit) {
				text := ""
				for _, id := range path {
					text += string(id[0])
				}
				got = append(got, text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("Cycles(%s) = %v; want %v", c.edges, got, c.want)
			}
		})
	}
}

// Jobs that lead to a cycle, or away from one, cost no search of their own.
func TestOnlyCyclesAreSearched(t *testing.T) {
	edges := edgesOf("ab ba")
	last, first := named('b'), named('a')
	for range 1000 {
		before, after := ids.New(), ids.New()
		edges = append(edges, Edge{before, first}, Edge{last, after})
		first, last = before, after
	}
	if left := reversed(pruneAcyclic(reversed(pruneAcyclic(edges)))); len(left) != 2 {
		t.Errorf("%d edges are left to be searched; want the cycle's two", len(left))
	}
	if paths := Cycles(edges, 10); len(paths) != 2 {
		t.Errorf("%d jobs are on a cycle; want 2", len(paths))
	}
}
