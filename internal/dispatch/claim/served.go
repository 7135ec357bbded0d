package claim

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// maxServed is for how many kinds of agents the lanes that they serve are known (least recently used
// out).
const maxServed = 128

// servedLanes are the lanes that agents serve, by what the agents offer. A lane is matched once with
// each kind of agent: again only where one of the two changes.
type servedLanes struct {
	mu    sync.Mutex
	known *lru.Cache[servedKey, served]
}

type servedKey struct {
	workspace ids.ID
	class     [sha256.Size]byte
}

// served are lanes that one kind of agent serves: their ids, which rise, and their products. They belong
// to all who ask and are not to be changed.
type served struct {
	lanes    []int64
	products map[int64]ids.ID
	partly   map[ids.ID]bool // products with lanes that it does not serve
	// guarded are those of the lanes whose jobs keep some agents of the kind away.
	guarded []lane
	number  uint64 // of the list of lanes
	matched int    // how many lanes of that list were looked at
}

func newServedLanes() *servedLanes {
	cache, err := lru.New[servedKey, served](maxServed)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &servedLanes{known: cache}
}

// classKey names what decides which lanes an agent serves: what it offers, whether it follows as many
// pull requests as it may, and the products that its token reaches.
func (c claimant) classKey(offer fleet.Offer, products []ids.ID) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %t %v", offer.Factory, offer.Tokens, c.Follows < fleet.MaxFollowed, products))
}

// of returns the lanes of a list that agents of a class serve, as serves says of a lane that was not
// looked at for them.
func (s *servedLanes) of(workspace ids.ID, list laneList, class [sha256.Size]byte, serves func(lane) bool) served {
	key := servedKey{workspace, class}
	s.mu.Lock()
	known, ok := s.known.Get(key)
	s.mu.Unlock()
	if !ok || known.number != list.number || known.matched > len(list.lanes) {
		known = served{lanes: []int64{}, products: map[int64]ids.ID{}, partly: map[ids.ID]bool{}, number: list.number}
	}
	if ok && known.matched == len(list.lanes) {
		return known
	}
	fresh := known
	fresh.matched = len(list.lanes)
	shared := ok && known.matched > 0
	for _, l := range list.lanes[known.matched:] {
		does := serves(l)
		if !does && fresh.partly[l.ProductID] {
			continue
		}
		if shared {
			fresh.lanes, fresh.products, fresh.partly = slices.Clone(fresh.lanes), maps.Clone(fresh.products), maps.Clone(fresh.partly)
			fresh.guarded, shared = slices.Clone(fresh.guarded), false
		}
		if does {
			fresh.lanes, fresh.products[l.ID] = append(fresh.lanes, l.ID), l.ProductID
			if slices.ContainsFunc(l.Needs, distinct.Is) {
				fresh.guarded = append(fresh.guarded, l)
			}
		} else {
			fresh.partly[l.ProductID] = true
		}
	}
	s.mu.Lock()
	s.known.Add(key, fresh)
	s.mu.Unlock()
	return fresh
}

// passes returns the lanes without those whose jobs keep one agent of the kind away.
func (s served) passes(who distinct.Agent) served {
	var away []int64
	for _, l := range s.guarded {
		if !who.Passes(l.Needs) {
			away = append(away, l.ID)
		}
	}
	if len(away) == 0 {
		return s
	}
	s.lanes, s.products, s.partly = slices.Clone(s.lanes), maps.Clone(s.products), maps.Clone(s.partly)
	for _, id := range away { // rising, like the lanes
		s.partly[s.products[id]] = true
		delete(s.products, id)
	}
	s.lanes = slices.DeleteFunc(s.lanes, func(id int64) bool { _, found := slices.BinarySearch(away, id); return found })
	return s
}

// verifies reports whether the jobs of one of the lanes verify work: they keep its authors away.
func (s served) verifies(id int64) bool {
	_, found := findLane(s.guarded, id)
	return found
}
