package live

import (
	"context"
	"sync"
)

// queueSize is how many messages a reader may be behind. One that is further
// behind has to fetch the page anew, and holds nobody up.
const queueSize = 32

// message is made once for many readers.
type message struct {
	cursor string // place in the log after it, "" where it has none
	text   *piece // nil where nothing changed that shows
}

// subscriber is one reader of a stream.
type subscriber struct {
	queue chan message // closed when the reader is late or the stream ended
	late  bool
}

// subscribers are the readers of one stream.
type subscribers struct {
	mu    sync.Mutex
	list  map[*subscriber]bool
	ended bool
}

// add gives a reader an empty queue; false where the stream has ended.
func (s *subscribers) add(one *subscriber) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	one.queue, one.late = make(chan message, queueSize), false
	s.list[one] = true
	return true
}

// remove takes a reader away, if he is there.
func (s *subscribers) remove(one *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.list, one)
}

// end closes the queues of all readers.
func (s *subscribers) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for one := range s.list {
		close(one.queue)
	}
	s.list = nil
}

// publish makes the message, if there is a reader, and puts it into every queue.
func (s *subscribers) publish(ctx context.Context, n Update, cursor string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return nil
	}
	text, err := n.message(ctx, cursor)
	if err != nil {
		return err
	}
	for one := range s.list {
		select {
		case one.queue <- message{cursor: cursor, text: text}:
		default:
			one.late = true
			close(one.queue)
			delete(s.list, one)
		}
	}
	return nil
}
