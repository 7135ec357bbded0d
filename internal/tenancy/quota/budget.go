package quota

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Budget is a number of bytes that requests share. A request takes its part before
// it reads what it was sent, waits a moment where there is none, and is refused
// afterwards. Those that wait are served in their order. Methods are safe for
// concurrent use.
type Budget struct {
	total    int64
	patience time.Duration

	mu      sync.Mutex
	used    int64
	of      map[ids.ID]int64 // by caller
	waiting list.List        // of *Share that wait, the first in line at the front
}

// Share is the part of a budget that one request holds. A nil one holds nothing.
type Share struct {
	budget *Budget
	askers []Asker
	size   int64
	place  *list.Element
	given  chan struct{}
}

// NewBudget returns a budget of total bytes, for which a request waits no longer
// than patience.
func NewBudget(total int64, patience time.Duration) *Budget {
	return &Budget{total: total, patience: patience, of: map[ids.ID]int64{}}
}

// Take gives a request a share of size bytes, at most the whole budget, on the
// account of all its callers. End gives it back. Faults: TooMany where a caller holds
// too much itself, Unavailable where all together do.
func (b *Budget) Take(ctx context.Context, size int64, askers ...Asker) (*Share, error) {
	s := &Share{budget: b, askers: askers, size: min(size, b.total), given: make(chan struct{})}
	b.mu.Lock()
	s.place = b.waiting.PushBack(s)
	b.serve()
	b.mu.Unlock()
	patience := time.NewTimer(b.patience)
	defer patience.Stop()
	var err error
	select {
	case <-s.given:
		return s, nil
	case <-patience.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.place == nil {
		return s, nil // given at the last moment
	}
	if err == nil {
		err = s.refusal()
	}
	b.waiting.Remove(s.place)
	b.serve()
	return nil, err
}

// Shrink gives back all but size bytes.
func (s *Share) Shrink(size int64) {
	if s == nil {
		return
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if back := s.size - max(size, 0); back > 0 {
		s.add(-back)
		s.size -= back
		b.serve()
	}
}

// End gives the share back.
func (s *Share) End() { s.Shrink(0) }

// serve gives to those that wait what there is. One whose caller holds too much lets
// the others pass; one for whom only the budget is too small does not, or large
// shares would wait for ever.
func (b *Budget) serve() {
	for at := b.waiting.Front(); at != nil; {
		next := at.Next()
		s := at.Value.(*Share) // nothing else is put in
		if s.full() == nil {
			if b.used+s.size > b.total {
				return
			}
			b.waiting.Remove(at)
			s.place = nil
			s.add(s.size)
			close(s.given)
		}
		at = next
	}
}

// full returns the first caller that may not hold the share as well, nil where all may. One
// that holds nothing may hold a share of any size.
func (s *Share) full() *Asker {
	for i, a := range s.askers {
		if held := s.budget.of[a.ID]; held > 0 && held+s.size > a.Most {
			return &s.askers[i]
		}
	}
	return nil
}

func (s *Share) add(size int64) {
	b := s.budget
	b.used += size
	for _, a := range s.askers {
		if b.of[a.ID] += size; b.of[a.ID] == 0 {
			delete(b.of, a.ID)
		}
	}
}

func (s *Share) refusal() error {
	if full := s.full(); full != nil {
		return fault.New(fault.TooMany, "The bodies of this %s that are read right now are too large together. Send fewer at once.",
			full.What)
	}
	return fault.New(fault.Unavailable, "Too many large bodies are read right now. Try again in a moment.")
}
