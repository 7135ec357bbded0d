package live

import (
	"sync"

	"fleetboard/internal/ids"
)

// Limits of open streams of one kind. Beyond them new ones are refused; an open one is
// never ended for another, which would only come back at once.
const (
	// StreamsPerPerson bounds what one person has open.
	StreamsPerPerson = 10
	streamsInAll     = 2000
)

// limit counts the open streams of the process.
type limit struct {
	mu     sync.Mutex
	all    int
	person map[ids.ID]int
}

// enter takes a place; ok is false where none is left. leave gives it back.
func (l *limit) enter(account ids.ID) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= streamsInAll || l.person[account] >= StreamsPerPerson {
		return nil, false
	}
	if l.person == nil {
		l.person = map[ids.ID]int{}
	}
	l.all++
	l.person[account]++
	return func() { l.leave(account) }, true
}

func (l *limit) leave(account ids.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.person[account]--; l.person[account] == 0 {
		delete(l.person, account)
	}
}
