package dispatch

import (
	"math"
	"sync"
	"time"

	"fleetboard/internal/ids"
)

const (
	// longWay is how many blocks of ready jobs, that were taken long ago and cannot be
	// removed yet, lie before the first of a lane when it is worth remembering where
	// they end.
	longWay = 64
	// floorLasts is how long that is believed at least, and lastsOfBlock for each block:
	// twenty times as long as it takes to pass over one, so that a twentieth of the
	// time goes into ways from the top. floorLastsMost is the longest.
	floorLasts     = time.Second
	lastsOfBlock   = 20 * 30 * time.Microsecond
	floorLastsMost = 10 * time.Second
)

// place is one in the order of a lane's ready jobs: the more urgent first, then
// those that are ready longer.
type place struct {
	priority int16
	readyAt  time.Time
	job      ids.ID
}

// top is before all jobs.
var top = place{priority: math.MaxInt16}

// floors are the places of lanes before which there was no job a moment ago. Where
// the database cannot remove rows, for somebody holds a snapshot open, the way from
// the top to the first job that is left gets longer with each claim; from a floor it
// does not. A more urgent job that comes meanwhile is seen when the floor has ended,
// after a second or twenty times as long as the way takes, ten seconds at most. Where
// the way is short, and where nothing is found, jobs are looked for from the top.
type floors struct {
	now func() time.Time

	mu sync.Mutex
	of map[laneName]floor
}

type laneName struct {
	workspace ids.ID
	lane      int64
}

type floor struct {
	place
	until time.Time
}

func newFloors() *floors { return &floors{now: time.Now, of: map[laneName]floor{}} }

// below gives the floors of those lanes that have one.
func (f *floors) below(workspace ids.ID, lanes []int64) map[int64]place {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.of) == 0 {
		return nil
	}
	places := map[int64]place{}
	for _, id := range lanes {
		name := laneName{workspace, id}
		if one, ok := f.of[name]; ok && f.now().Before(one.until) {
			places[id] = one.place
		} else {
			delete(f.of, name)
		}
	}
	return places
}

// reached says how far claims have come in a lane, after a way of so many blocks. A
// floor rises with them, but does not last longer for it.
func (f *floors) reached(workspace ids.ID, lane int64, at place, blocks int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := laneName{workspace, lane}
	one, known := f.of[name]
	if !known && blocks < longWay {
		return
	}
	if !known {
		one.until = f.now().Add(min(max(floorLasts, time.Duration(blocks)*lastsOfBlock), floorLastsMost))
	}
	one.place = at
	f.of[name] = one
}
