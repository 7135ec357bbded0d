package claim

import (
	"cmp"
	"math"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// minDeadBlocks is how many blocks of ready jobs that were taken long ago, and cannot
	// be removed yet, lie before the first job of a lane when it gets a watermark.
	minDeadBlocks = 64
	// A watermark lives watermarkTTL, or ttlPerBlock for each dead block it skips - 20
	// times the cost of scanning that block - so that full scans cost about 5 % of the
	// time. At most watermarkMax.
	watermarkTTL = time.Second
	ttlPerBlock  = 20 * 30 * time.Microsecond
	watermarkMax = 10 * time.Second
)

// readyKey is a place in the order of ready jobs: the more urgent first, then those that are
// ready longer, unless a person has ranked them.
type readyKey struct {
	priority int
	place    time.Time
	tieBreak string // among jobs of one place
	job      ids.ID
}

// compare orders the more urgent first, then those that came there before.
func (k readyKey) compare(other readyKey) int {
	return cmp.Or(cmp.Compare(other.priority, k.priority), k.place.Compare(other.place), cmp.Compare(k.tieBreak, other.tieBreak))
}

// top is before all jobs.
var top = readyKey{priority: math.MaxInt16}

// watermark is how far claims have come in a lane, after so many dead blocks.
type watermark struct {
	lane int64
	readyKey
	blocks int64
}

// scanWatermarks are the places of lanes before which there was no job a moment ago.
// Where the database cannot remove rows, for somebody holds a snapshot open, the way from
// the top to the first job that is left gets longer with each claim; from a watermark it
// does not. A more urgent job that comes meanwhile is seen when the watermark has ended,
// after a second or twenty times as long as the way takes, ten seconds at most. Where
// the way is short, and where nothing is found, jobs are looked for from the top.
type scanWatermarks struct {
	now func() time.Time

	mu     sync.Mutex
	byLane map[laneName]laneWatermark
}

type laneName struct {
	workspace ids.ID
	lane      int64
}

type laneWatermark struct {
	readyKey
	until time.Time
}

func newScanWatermarks() *scanWatermarks {
	return &scanWatermarks{now: time.Now, byLane: map[laneName]laneWatermark{}}
}

// of returns the watermarks of those of the lanes that have one.
func (m *scanWatermarks) of(workspace ids.ID, lanes []int64) map[int64]readyKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.byLane) == 0 {
		return nil
	}
	keys := map[int64]readyKey{}
	for _, id := range lanes {
		name := laneName{workspace, id}
		if one, ok := m.byLane[name]; ok && m.now().Before(one.until) {
			keys[id] = one.readyKey
		} else {
			delete(m.byLane, name)
		}
	}
	return keys
}

// advance moves a lane's watermark to where claims have come. It does not last longer
// for it.
func (m *scanWatermarks) advance(workspace ids.ID, to watermark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := laneName{workspace, to.lane}
	one, known := m.byLane[name]
	if !known && to.blocks < minDeadBlocks {
		return
	}
	if !known {
		one.until = m.now().Add(min(max(watermarkTTL, time.Duration(to.blocks)*ttlPerBlock), watermarkMax))
	}
	one.readyKey = to.readyKey
	m.byLane[name] = one
}
