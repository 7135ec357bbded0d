package claim

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// maxBehind is by how many turns a product may be behind another one: it is not given more
	// than so many, times its weight, in a row.
	maxBehind = 20
	// maxStridesKnown bounds the cache, in workspaces (least recently used out).
	maxStridesKnown = 4096
)

// strides decide which product's jobs come next of those that are as urgent (stride
// scheduling). At each priority a product has a pass, which goes up by 1/weight with each job
// given; the lowest pass comes first. A product that has no ready jobs any more has no pass,
// and comes back at the lowest one. Passes are in the memory of this process: each server is
// fair in what it gives out, so all of them are.
type strides struct {
	mu    sync.Mutex
	known *lru.Cache[ids.ID, passes]
}

// passes are those of a workspace, by priority and product. A product that is alone at its
// priority has none.
type passes map[int]map[ids.ID]float64

// competitor is a product that has a ready job at a priority.
type competitor struct {
	product ids.ID
	weight  int
}

func newStrides() *strides {
	known, err := lru.New[ids.ID, passes](maxStridesKnown)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &strides{known: known}
}

// plan returns how many of the next n jobs at a priority each of the products gives, as if each
// had so many, and counts them as given. Of products that have the same pass the first in the
// list comes first.
func (s *strides) plan(workspace ids.ID, priority int, list []competitor, n int) []int {
	shares := make([]int, len(list))
	s.mu.Lock()
	defer s.mu.Unlock()
	level := s.level(workspace, priority, list)
	if level == nil {
		shares[0] = n
		return shares
	}
	next := make([]float64, len(list))
	for i, c := range list {
		next[i] = level[c.product]
	}
	for range n {
		first := 0
		for i, pass := range next {
			if pass < next[first] {
				first = i
			}
		}
		shares[first]++
		next[first] += 1 / float64(list[first].weight)
	}
	for i, c := range list {
		level[c.product] = next[i]
	}
	return shares
}

// level returns the passes at a priority with one for each of the products, none of them too
// far behind; nil where a product is alone.
func (s *strides) level(workspace ids.ID, priority int, list []competitor) map[ids.ID]float64 {
	of, known := s.known.Get(workspace)
	level := of[priority]
	if len(level) == 0 && len(list) == 1 {
		return nil
	}
	if !known {
		of = passes{}
		s.known.Add(workspace, of)
	}
	if level == nil {
		level = map[ids.ID]float64{}
		of[priority] = level
	}
	lowest, highest, first := 0.0, 0.0, true
	for _, pass := range level {
		if first {
			lowest, highest, first = pass, pass, false
		}
		lowest, highest = min(lowest, pass), max(highest, pass)
	}
	for _, c := range list {
		pass, had := level[c.product]
		if !had {
			pass = lowest
		}
		level[c.product] = max(pass, highest-maxBehind)
	}
	return level
}

// takeBack counts jobs of a product as not given, after all.
func (s *strides) takeBack(workspace ids.ID, priority int, c competitor, n int) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of, _ := s.known.Get(workspace)
	if pass, had := of[priority][c.product]; had {
		of[priority][c.product] = pass - float64(n)/float64(c.weight)
	}
}

// forgetIdle takes the passes of products that have no ready job at their priority any more.
// urgency returns the priority of a product's most urgent job; false where it has none.
func (s *strides) forgetIdle(workspace ids.ID, urgency func(product ids.ID) (int, bool), seesAll func(product ids.ID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, _ := s.known.Peek(workspace)
	for priority, level := range of {
		for product := range level {
			if top, ready := urgency(product); (!ready || top < priority) && seesAll(product) {
				delete(level, product)
			}
		}
		if len(level) == 0 {
			delete(of, priority)
		}
	}
}
