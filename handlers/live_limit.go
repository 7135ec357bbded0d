package handlers

import (
	"sync"

	"fleetboard/internal/ids"
)

// Limits of open streams. Beyond them new ones are refused; an open one is
// never ended for another, which would only come back at once.
const (
	streamsPerPerson = 10
	streamsInAll     = 2000
)

// streamLimit counts the open streams of the process.
type streamLimit struct {
	mu     sync.Mutex
	all    int
	person map[ids.ID]int
}

// enter takes a place; ok is false where none is left. leave gives it back.
func (l *streamLimit) enter(account ids.ID) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= streamsInAll || l.person[account] >= streamsPerPerson {
		return nil, false
	}
	if l.person == nil {
		l.person = map[ids.ID]int{}
	}
	l.all++
	l.person[account]++
	return func() { l.leave(account) }, true
}

func (l *streamLimit) leave(account ids.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.person[account]--; l.person[account] == 0 {
		delete(l.person, account)
	}
}
