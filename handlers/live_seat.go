package handlers

import (
	"context"
	"slices"
	"sync"
)

// seatQueue is how many messages a reader may be behind. One that is further
// behind is told to fetch the page anew, and holds nobody up.
const seatQueue = 32

// bulletin is a message that was made once for many readers.
type bulletin struct {
	cursor  string // place in the log after it, "" where it has none
	message []byte // nil where nothing changed that shows
}

// seat is a reader's place in front of a showing.
type seat struct {
	bulletins chan bulletin // closed when the reader is late or the showing ended
	late      bool
	has       map[string]bool // columns that were sent whole to this reader
}

// seats are the readers of one showing.
type seats struct {
	mu    sync.Mutex
	list  map[*seat]bool
	ended bool
}

// add gives a reader an empty queue; false where the showing has ended.
func (s *seats) add(one *seat) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	one.bulletins, one.late, one.has = make(chan bulletin, seatQueue), false, map[string]bool{}
	s.list[one] = true
	return true
}

// remove takes a reader away, if he is there.
func (s *seats) remove(one *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.list, one)
}

// end closes the queues of all readers.
func (s *seats) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for one := range s.list {
		close(one.bulletins)
	}
	s.list = nil
}

// tell makes the message and puts it into every queue. It is made at most twice:
// in brief for those who were sent its columns before, and in full.
func (s *seats) tell(ctx context.Context, n news, cursor string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	columns := n.columns()
	var made [2]*bulletin
	for one := range s.list {
		kind := 0
		if len(columns) > 0 && !slices.ContainsFunc(columns, func(c string) bool { return !one.has[c] }) {
			kind = 1
		}
		if made[kind] == nil {
			asked := ctx
			if kind == 1 {
				asked = inBrief(ctx)
			}
			message, err := n.message(asked, cursor)
			if err != nil {
				return err
			}
			made[kind] = &bulletin{cursor: cursor, message: message}
		}
		select {
		case one.bulletins <- *made[kind]:
			for _, c := range columns {
				one.has[c] = true
			}
		default:
			one.late = true
			close(one.bulletins)
			delete(s.list, one)
		}
	}
	return nil
}
