package passwords

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
)

const (
	// hashesAtOnce bounds memory and leaves the pages time: a hash takes 64 MiB and
	// keeps up to four cores busy, so that two at once are hardly sooner done.
	hashesAtOnce = 1
	// maxQueue is how long a hash may wait for its turn. One that would wait
	// longer is refused at once, instead of a queue that only grows.
	maxQueue = 10 * time.Second
	// firstGuess is how long a hash takes, until one was made.
	firstGuess = 100 * time.Millisecond
)

// Asker is for whom a hash is made: those with one name share their turns.
type Asker struct {
	Name string
	// known is a session, a known device or the holder of a link of ours. They
	// come before strangers, who can be as many as somebody likes.
	Known bool
}

// Stranger is who logs in from a network address. One attacker easily has a
// whole site: the first 24 bits of IPv4, the first 48 of IPv6.
func Stranger(addr string) Asker {
	return Asker{Name: Site(addr)}
}

// Site returns the network that an address belongs to, "unknown" for none.
func Site(addr string) string {
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return "unknown"
	}
	a = a.Unmap().WithZone("")
	bits := 48
	if a.Is4() {
		bits = 24
	}
	prefix, err := a.Prefix(bits)
	if err != nil {
		return a.String()
	}
	return prefix.String()
}

// hashQueue hands out the turns to make a hash. Askers take turns: whoever comes
// first of a name waits for one turn of each other name at most, however many
// wait under one. Whoever waits holds nothing but the place in the queue.
type hashQueue struct {
	mu        sync.Mutex
	busy      int
	took      time.Duration // by one hash, lately
	known     line
	strangers line
}

func newHashQueue() *hashQueue {
	return &hashQueue{took: firstGuess, known: newLine(), strangers: newLine()}
}

func (q *hashQueue) findLine(who Asker) *line {
	if who.Known {
		return &q.known
	}
	return &q.strangers
}

// room refuses where the caller would wait too long. Fault: Unavailable with
// Details["retry_after"] in seconds.
func (q *hashQueue) room(who Asker) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.roomLocked(who)
}

func (q *hashQueue) roomLocked(who Asker) error {
	ahead := q.findLine(who).ahead(who.Name)
	if !who.Known {
		ahead += q.known.waiting
	}
	wait := q.took * time.Duration(ahead) / hashesAtOnce
	if wait <= maxQueue {
		return nil
	}
	return tooBusy(wait)
}

func tooBusy(wait time.Duration) error {
	return fault.New(fault.Unavailable, "Very many people log in at this moment. Try again in a few seconds.").
		With("retry_after", int(wait/time.Second)+1)
}

// enter waits for a turn, which leave gives back. Faults: as room, also where the
// turn did not come in time.
func (q *hashQueue) enter(ctx context.Context, who Asker) error {
	q.mu.Lock()
	if err := q.roomLocked(who); err != nil {
		q.mu.Unlock()
		return err
	}
	turn := make(chan struct{})
	q.findLine(who).push(who.Name, turn)
	q.callLocked()
	q.mu.Unlock()

	patience := time.NewTimer(maxQueue)
	defer patience.Stop()
	var err error
	select {
	case <-turn:
		return nil
	case <-patience.C:
		err = tooBusy(maxQueue)
	case <-ctx.Done():
		err = ctx.Err()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.findLine(who).drop(who.Name, turn) {
		// It was called at this very moment.
		q.busy--
		q.callLocked()
	}
	return err
}

// leave lets the next one in, and learns how long a turn takes.
func (q *hashQueue) leave(began time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.took += (time.Since(began) - q.took) / 8
	q.busy--
	q.callLocked()
}

// callLocked calls who is next, while there is a place.
func (q *hashQueue) callLocked() {
	for q.busy < hashesAtOnce {
		turn, ok := q.known.pop()
		if !ok {
			turn, ok = q.strangers.pop()
		}
		if !ok {
			return
		}
		q.busy++
		close(turn)
	}
}

// line is who waits, by name, and the names in the order of their turns.
type line struct {
	of      map[string][]chan struct{}
	order   []string
	waiting int
}

func newLine() line { return line{of: map[string][]chan struct{}{}} }

// ahead returns how many turns come before that of one who joins under a name now.
func (l *line) ahead(name string) int {
	round, n := len(l.of[name])+1, len(l.of[name])
	for other, list := range l.of {
		if other != name {
			n += min(len(list), round)
		}
	}
	return n
}

func (l *line) push(name string, turn chan struct{}) {
	if len(l.of[name]) == 0 {
		l.order = append(l.order, name)
	}
	l.of[name] = append(l.of[name], turn)
	l.waiting++
}

// pop takes the first of the name whose turn it is, and puts the name last.
func (l *line) pop() (chan struct{}, bool) {
	if len(l.order) == 0 {
		return nil, false
	}
	name := l.order[0]
	turn := l.of[name][0]
	l.order = append(l.order[1:], name)
	l.drop(name, turn)
	return turn, true
}

// drop takes one out who waits no longer; false where it was called before.
func (l *line) drop(name string, turn chan struct{}) bool {
	at := slices.Index(l.of[name], turn)
	if at < 0 {
		return false
	}
	l.waiting--
	if l.of[name] = slices.Delete(l.of[name], at, at+1); len(l.of[name]) == 0 {
		delete(l.of, name)
		l.order = slices.DeleteFunc(l.order, func(one string) bool { return one == name })
	}
	return true
}
