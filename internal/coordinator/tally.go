package coordinator

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"fleetboard/internal/signal"
)

// deed is something that the coordinator counts, as the API names it.
type deed string

const (
	takenBack     deed = "leases_taken_back"
	promoted      deed = "jobs_promoted"
	warned        deed = "warned"
	timedOut      deed = "timed_out"
	cyclesFailed  deed = "cycles_failed"
	agentsDead    deed = "agents_dead"
	jobsCompacted deed = "jobs_compacted"
	linesExpired  deed = "lines_expired"
	secretsMoved  deed = "secrets_moved"
)

// deeds are all of them, in the order of a sentence, for one and for many.
var deeds = []struct {
	deed      deed
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

// sentence says what was done: "3 leases taken back, 1 job made ready."
func sentence(done map[deed]int64) string {
	var parts []string
	for _, d := range deeds {
		switch n := done[d.deed]; n {
		case 0:
		case 1:
			parts = append(parts, d.one)
		default:
			parts = append(parts, fmt.Sprintf(d.many, n))
		}
	}
	return strings.Join(parts, ", ") + "."
}

// tally counts what is done in a term.
type tally struct {
	// firstCycle is set once, by the first cycle.
	firstCycle signal.Signal

	mu     sync.Mutex
	cycles int64
	last   time.Time // of the last cycle
	all    map[deed]int64
	fresh  map[deed]int64 // not told yet
	told   int64          // cycles that were told
}

func newTally() *tally {
	return &tally{firstCycle: signal.New(), all: map[deed]int64{}, fresh: map[deed]int64{}}
}

func (t *tally) did(what deed, n int) {
	if n <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[what] += int64(n)
	t.fresh[what] += int64(n)
}

func (t *tally) cycled() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cycles++
	t.last = time.Now()
	if t.cycles == 1 {
		t.firstCycle.Set()
	}
}

// news is what a tally has to tell.
type news struct {
	cycles int64
	last   time.Time
	all    map[string]int64
	fresh  map[deed]int64
}

// take gives what was not told yet; false where there is nothing.
func (t *tally) take() (news, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cycles == t.told && len(t.fresh) == 0 {
		return news{}, false
	}
	n := news{cycles: t.cycles, last: t.last, all: map[string]int64{}, fresh: t.fresh}
	for what, count := range t.all {
		n.all[string(what)] = count
	}
	t.fresh, t.told = map[deed]int64{}, t.cycles
	return n, true
}

// giveBack returns news that could not be told.
func (t *tally) giveBack(n news) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = 0
	for what, count := range t.fresh {
		n.fresh[what] += count
	}
	t.fresh = maps.Clone(n.fresh)
}
