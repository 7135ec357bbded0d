package quota

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// maxTurns bounds the expensive requests of one process that run at once: half of the
	// connections that the database's pool has at least.
	maxTurns = 8
	// turnPatience is how long a request waits for its turn.
	turnPatience = 5 * time.Second
	// TurnLine is how many requests may wait for each turn that a caller has.
	TurnLine = 64
	// maxRest is the longest rest after a turn.
	maxRest = 500 * time.Millisecond
	// aloneAfter is how long the others must have been silent for a caller to be alone.
	aloneAfter = time.Second
)

// Turns lets expensive requests run a few at a time, so that cheap ones always find a
// processor and a connection to the database. One caller has half of the processors; an
// enrolment token and a workspace have as many turns as there are processors, and one more
// is left to the others. Between two turns a caller rests. One who has been alone for a
// second may take all, and without a rest. Of those who wait whoever has the least goes first.
// Methods are safe for concurrent use, and those of nil Turns allow everything.
//
// Cheap requests have turns too, as many as there are callers: one caller has one more of
// them than of the expensive ones.
type Turns struct {
	total  int64
	shares Shares
	seen   *sightings
	cheap  *Turns // nil in those of cheap requests

	mu      sync.Mutex
	used    int64
	of      map[ids.ID]*turnsOf
	waiting []*Turn // in the order in which they came
	served  int64   // turns given so far
}

// sightings are who was seen last, and when somebody else was.
type sightings struct {
	mu         sync.Mutex
	asker      ids.ID
	at, before time.Time
}

// turnsOf is what a caller has and waits for.
type turnsOf struct {
	held, waiting int64
	served        int64 // when it was given its last turn
}

// Turn is what one request holds while it runs. A nil one holds nothing.
type Turn struct {
	turns  *Turns
	askers []Asker
	given  chan struct{}
	began  time.Time
	once   sync.Once
}

// NewTurns returns the turns of a process that has so many processors.
func NewTurns(processors int) *Turns {
	n := int64(min(max(processors, 1), maxTurns-1))
	one, all, seen := max(n/2, 1), int64(math.MaxInt64)/TurnLine, &sightings{}
	cheap := &Turns{total: all, shares: Shares{Asker: one + 1, Enrolment: all, Workspace: all}, seen: seen, of: map[ids.ID]*turnsOf{}}
	return &Turns{total: n + 1, shares: Shares{Asker: one, Enrolment: n, Workspace: n}, seen: seen, cheap: cheap, of: map[ids.ID]*turnsOf{}}
}

// See notes that somebody requests something, be it cheap: the others are not alone.
func (t *Turns) See(who tenancy.Principal) {
	if t == nil {
		return
	}
	asker, now := who.Asker(), time.Now()
	s := t.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asker != asker {
		s.asker, s.before = asker, s.at
	}
	s.at = now
}

// Take gives a request its turn, after at most some seconds. Faults: TooMany where its
// askers have too many under way or in line, Unavailable where all together do.
func (t *Turns) Take(ctx context.Context, who tenancy.Principal) (*Turn, error) {
	if t == nil {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, turnPatience)
	defer cancel()
	turn, full := t.line(who, true)
	if full != nil {
		return nil, tooMany(full)
	}
	if turn.await(limited) {
		return turn, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if full := turn.full(); full != nil {
		return nil, tooMany(full)
	}
	return nil, fault.New(fault.Unavailable, "Too many expensive requests run right now. Try again in a moment.")
}

// TakeCheap is Take for a request that is cheap.
func (t *Turns) TakeCheap(ctx context.Context, who tenancy.Principal) (*Turn, error) {
	if t == nil {
		return nil, nil
	}
	return t.cheap.Take(ctx, who)
}

// Await is Take for one of the pieces of what goes on for long, such as a transfer: it
// waits as long as ctx, however many are in line. Its caller has a seat already.
func (t *Turns) Await(ctx context.Context, who tenancy.Principal) (*Turn, error) {
	if t == nil {
		return nil, nil
	}
	turn, _ := t.line(who, false)
	if !turn.await(ctx) {
		return nil, ctx.Err()
	}
	return turn, nil
}

func tooMany(full *Asker) error {
	return fault.New(fault.TooMany, "Too many requests of this %s are under way. Send fewer at once.", full.What)
}

// line puts a request into line, unless that is bounded and too long for a caller.
func (t *Turns) line(who tenancy.Principal, bounded bool) (*Turn, *Asker) {
	turn := &Turn{turns: t, askers: Askers(who, t.shares), given: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, a := range turn.askers {
		if of := t.of[a.ID]; bounded && of != nil && of.waiting >= TurnLine*a.Most {
			return nil, &turn.askers[i]
		}
	}
	for _, a := range turn.askers {
		if t.of[a.ID] == nil {
			t.of[a.ID] = &turnsOf{}
		}
		t.of[a.ID].waiting++
	}
	t.waiting = append(t.waiting, turn)
	t.serve()
	return turn, nil
}

// await reports whether the turn came before ctx ended; it is out of line then.
func (u *Turn) await(ctx context.Context) bool {
	select {
	case <-u.given:
		return true
	default:
	}
	select {
	case <-u.given:
		return true
	case <-ctx.Done():
	}
	t := u.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.waiting, u)
	if at < 0 {
		return true // given at the last moment
	}
	t.waiting = slices.Delete(t.waiting, at, at+1)
	for _, a := range u.askers {
		t.of[a.ID].waiting--
		t.forget(a.ID)
	}
	return false
}

// End ends the turn; it may be called again. Its caller rests then as long as the turn lasted,
// at most maxRest, unless it is alone: the processors and the disk are the others' half of
// the time.
func (u *Turn) End() {
	if u == nil {
		return
	}
	u.once.Do(func() {
		t := u.turns
		t.mu.Lock()
		defer t.mu.Unlock()
		t.used--
		if t.alone(u) {
			t.release(u.askers)
			return
		}
		t.release(u.askers[1:])
		time.AfterFunc(min(time.Since(u.began), maxRest), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.release(u.askers[:1])
		})
	})
}

// release gives back the turn that each of the askers has held.
func (t *Turns) release(askers []Asker) {
	for _, a := range askers {
		t.of[a.ID].held--
		t.forget(a.ID)
	}
	t.serve()
}

// forget drops a caller that has nothing and waits for nothing.
func (t *Turns) forget(asker ids.ID) {
	if of := t.of[asker]; of.held == 0 && of.waiting == 0 {
		delete(t.of, asker)
	}
}

// serve gives those that wait what turns there are.
func (t *Turns) serve() {
	for t.used < t.total {
		next := -1
		for i, u := range t.waiting {
			if (t.firstFull(u) == nil || t.alone(u)) && (next < 0 || t.compare(u, t.waiting[next]) < 0) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		u := t.waiting[next]
		t.waiting = slices.Delete(t.waiting, next, next+1)
		t.used++
		t.served++
		for _, a := range u.askers {
			of := t.of[a.ID]
			of.held, of.waiting, of.served = of.held+1, of.waiting-1, t.served
		}
		u.began = time.Now()
		close(u.given)
	}
}

// alone reports whether nobody else was seen lately.
func (t *Turns) alone(u *Turn) bool {
	s := t.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	others := s.before
	if s.asker != u.askers[0].ID {
		others = s.at
	}
	return time.Since(others) >= aloneAfter
}

// compare says which of two goes first: that of the workspace which has less, or whose
// last turn is longer ago; then that of the smaller askers.
func (t *Turns) compare(a, b *Turn) int {
	for i := range min(len(a.askers), len(b.askers)) {
		x, y := t.of[a.askers[len(a.askers)-1-i].ID], t.of[b.askers[len(b.askers)-1-i].ID]
		if c := cmp.Or(cmp.Compare(x.held, y.held), cmp.Compare(x.served, y.served)); c != 0 {
			return c
		}
	}
	return 0
}

// full returns the first of the request's askers that has all of its turns, nil where none has.
func (u *Turn) full() *Asker {
	u.turns.mu.Lock()
	defer u.turns.mu.Unlock()
	return u.turns.firstFull(u)
}

func (t *Turns) firstFull(u *Turn) *Asker {
	for i, a := range u.askers {
		if of := t.of[a.ID]; of != nil && of.held >= a.Most {
			return &u.askers[i]
		}
	}
	return nil
}
