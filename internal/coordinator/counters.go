package coordinator

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// counter names something that the coordinator counts, as the API does.
type counter string

const (
	takenBack     counter = "leases_taken_back"
	promoted      counter = "jobs_promoted"
	warned        counter = "warned"
	timedOut      counter = "timed_out"
	cyclesFailed  counter = "cycles_failed"
	agentsDead    counter = "agents_dead"
	jobsCompacted counter = "jobs_compacted"
	linesExpired  counter = "lines_expired"
	secretsMoved  counter = "secrets_moved"
)

// countersInOrder are all counters in the order in which describe names them, each with its
// words for one and for many.
var countersInOrder = []struct {
	counter   counter
	one, many string
}{
	{takenBack, "1 lease taken back", "%d leases taken back"},
	{promoted, "1 job made ready", "%d jobs made ready"},
	{warned, "1 agent warned of the time", "%d agents warned of the time"},
	{timedOut, "1 job timed out", "%d jobs timed out"},
	{cyclesFailed, "1 job failed in a cycle", "%d jobs failed in a cycle"},
	{agentsDead, "1 agent dead", "%d agents dead"},
	{jobsCompacted, "1 job’s history folded", "%d jobs’ histories folded"},
	{linesExpired, "1 old log line deleted", "%d old log lines deleted"},
	{secretsMoved, "1 secret encrypted anew", "%d secrets encrypted anew"},
}

// describe returns what was done as a sentence: "3 leases taken back, 1 job made ready."
func describe(done map[counter]int64) string {
	var parts []string
	for _, c := range countersInOrder {
		switch n := done[c.counter]; n {
		case 0:
		case 1:
			parts = append(parts, c.one)
		default:
			parts = append(parts, fmt.Sprintf(c.many, n))
		}
	}
	return strings.Join(parts, ", ") + "."
}

// counters count what was done in a term.
type counters struct {
	// firstCycle is set once, by the first cycle.
	firstCycle signal.Signal

	mu       sync.Mutex
	cycles   int64
	last     time.Time // when the last cycle ended
	all      map[counter]int64
	fresh    map[counter]int64 // the part of all that is not reported yet
	reported int64             // how many cycles were reported
}

func newCounters() *counters {
	return &counters{firstCycle: signal.New(), all: map[counter]int64{}, fresh: map[counter]int64{}}
}

func (c *counters) add(what counter, n int) {
	if n <= 0 {
		return
	}
	metrics.CoordinatorWork.Of(string(what)).Add(float64(n))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[what] += int64(n)
	c.fresh[what] += int64(n)
}

func (c *counters) addCycle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cycles++
	c.last = time.Now()
	if c.cycles == 1 {
		c.firstCycle.Set()
	}
}

// unreported is what the next report says: cycles and all since the term began, fresh since the
// last report.
type unreported struct {
	cycles int64
	last   time.Time
	all    map[string]int64
	fresh  map[counter]int64
}

// takeUnreported returns what the next report says, and counts it as reported; false where there
// is nothing new.
func (c *counters) takeUnreported() (unreported, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cycles == c.reported && len(c.fresh) == 0 {
		return unreported{}, false
	}
	n := unreported{cycles: c.cycles, last: c.last, all: map[string]int64{}, fresh: c.fresh}
	for what, count := range c.all {
		n.all[string(what)] = count
	}
	c.fresh, c.reported = map[counter]int64{}, c.cycles
	return n, true
}

// restore counts as unreported again what could not be reported.
func (c *counters) restore(n unreported) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reported = 0
	for what, count := range c.fresh {
		n.fresh[what] += count
	}
	c.fresh = maps.Clone(n.fresh)
}
