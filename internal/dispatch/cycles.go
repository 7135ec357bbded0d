package dispatch

import (
	"slices"

	"fleetboard/internal/ids"
)

// edge says that one job waits for another one.
type edge struct {
	job, dependsOn ids.ID
}

// cycles finds the jobs that wait for themselves by way of others: for each of
// them the shortest path back to it, the job itself first and last, in the order
// of the jobs' first edges. At most limit paths are given.
func cycles(edges []edge, limit int) [][]ids.ID {
	// What is left leads from a cycle to a cycle; nearly always that is nothing.
	left := reversed(endless(reversed(endless(edges))))
	next := map[ids.ID][]ids.ID{}
	for _, e := range left {
		next[e.job] = append(next[e.job], e.dependsOn)
	}
	var paths [][]ids.ID
	seen := map[ids.ID]bool{}
	for _, e := range left {
		if len(paths) == limit {
			break
		}
		if seen[e.job] {
			continue
		}
		seen[e.job] = true
		if path := wayBack(e.job, next); path != nil {
			paths = append(paths, path)
		}
	}
	return paths
}

func reversed(edges []edge) []edge {
	list := make([]edge, 0, len(edges))
	for _, e := range edges {
		list = append(list, edge{e.dependsOn, e.job})
	}
	return list
}

// endless takes away, again and again, the jobs that wait for nobody who is left,
// and gives the edges between the others.
func endless(edges []edge) []edge {
	waiters := map[ids.ID][]ids.ID{}
	open := map[ids.ID]int{}
	for _, e := range edges {
		waiters[e.dependsOn] = append(waiters[e.dependsOn], e.job)
		open[e.job]++
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
	var left []edge
	for _, e := range edges {
		if open[e.job] > 0 && open[e.dependsOn] > 0 {
			left = append(left, e)
		}
	}
	return left
}

// wayBack is the shortest path from a job back to it, nil where there is none: it
// only stands between two cycles.
func wayBack(start ids.ID, next map[ids.ID][]ids.ID) []ids.ID {
	from := map[ids.ID]ids.ID{}
	queue := []ids.ID{start}
	for len(queue) > 0 {
		job := queue[0]
		queue = queue[1:]
		for _, d := range next[job] {
			if d == start {
				return pathTo(job, start, from)
			}
			if _, known := from[d]; !known {
				from[d] = job
				queue = append(queue, d)
			}
		}
	}
	return nil
}

// pathTo is the path from start to job, and back to start.
func pathTo(job, start ids.ID, from map[ids.ID]ids.ID) []ids.ID {
	path := []ids.ID{start}
	for ; job != start; job = from[job] {
		path = append(path, job)
	}
	path = append(path, start)
	slices.Reverse(path)
	return path
}
