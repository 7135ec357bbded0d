// Package graph finds paths and cycles among jobs that wait for one another. It
// knows ids and edges, no job and no database.
package graph

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Edge leads from a job to one that it waits for, or to its parent.
type Edge struct{ From, To ids.ID }

// Cycles finds the jobs that wait for themselves by way of others: for each of
// them the shortest path back to it, the job itself first and last, in the order
// of the jobs' first edges. At most limit paths are given.
func Cycles(edges []Edge, limit int) [][]ids.ID {
	// What is left leads from a cycle to a cycle; nearly always that is nothing.
	left := reversed(pruneAcyclic(reversed(pruneAcyclic(edges))))
	next := adjacent(left)
	var paths [][]ids.ID
	seen := map[ids.ID]bool{}
	for _, e := range left {
		if len(paths) == limit {
			break
		}
		if seen[e.From] {
			continue
		}
		seen[e.From] = true
		if path := shortest(next, next[e.From], e.From); path != nil {
			paths = append(paths, slices.Insert(path, 0, e.From))
		}
	}
	return paths
}

func reversed(edges []Edge) []Edge {
	list := make([]Edge, 0, len(edges))
	for _, e := range edges {
		list = append(list, Edge{e.To, e.From})
	}
	return list
}

// pruneAcyclic takes away, again and again, the jobs that wait for nobody who is left,
// and gives the edges between the others.
func pruneAcyclic(edges []Edge) []Edge {
	waiters := map[ids.ID][]ids.ID{}
	open := map[ids.ID]int{}
	for _, e := range edges {
		waiters[e.To] = append(waiters[e.To], e.From)
		open[e.From]++
	}
	var free []ids.ID
	for job := range waiters {
		if open[job] == 0 {
			free = append(free, job)
		}
	}
	for len(free) > 0 {
		job := free[len(free)-1]
		free = free[:len(free)-1]
		for _, w := range waiters[job] {
			if open[w]--; open[w] == 0 {
				free = append(free, w)
			}
		}
	}
	var left []Edge
	for _, e := range edges {
		if open[e.From] > 0 && open[e.To] > 0 {
			left = append(left, e)
		}
	}
	return left
}

// ShortestPath returns a shortest path along the edges from one of some jobs to another
// one, both ends in it; nil where there is none.
func ShortestPath(edges []Edge, from []ids.ID, to ids.ID) []ids.ID {
	return shortest(adjacent(edges), from, to)
}

func adjacent(edges []Edge) map[ids.ID][]ids.ID {
	next := map[ids.ID][]ids.ID{}
	for _, e := range edges {
		next[e.From] = append(next[e.From], e.To)
	}
	return next
}

func shortest(next map[ids.ID][]ids.ID, from []ids.ID, to ids.ID) []ids.ID {
	before := map[ids.ID]ids.ID{}
	for _, id := range from {
		before[id] = ids.Nil
	}
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		if id == to {
			var path []ids.ID
			for at := to; at != ids.Nil; at = before[at] {
				path = append(path, at)
			}
			slices.Reverse(path)
			return path
		}
		for _, n := range next[id] {
			if _, seen := before[n]; !seen {
				before[n] = id
				queue = append(queue, n)
			}
		}
	}
	return nil
}
