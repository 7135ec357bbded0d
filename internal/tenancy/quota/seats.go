package quota

import (
	"sync"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Seats counts what is under way for each caller, such as streams that are open. Methods
// are safe for concurrent use.
type Seats struct {
	mu    sync.Mutex
	taken map[ids.ID]int64
}

// NewSeats returns a count of none.
func NewSeats() *Seats { return &Seats{taken: map[ids.ID]int64{}} }

// Enter takes a seat of each caller. full is the first that has none left, nil where all
// have. leave gives the seats back; it may be called again.
func (s *Seats) Enter(askers ...Asker) (leave func(), full *Asker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range askers {
		if s.taken[a.ID] >= a.Most {
			return nil, &askers[i]
		}
	}
	for _, a := range askers {
		s.taken[a.ID]++
	}
	return sync.OnceFunc(func() { s.leave(askers) }), nil
}

func (s *Seats) leave(askers []Asker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range askers {
		if s.taken[a.ID]--; s.taken[a.ID] == 0 {
			delete(s.taken, a.ID)
		}
	}
}
