package passwords

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// However many wait from one site, the first of another waits for one of them.
func TestHashesAreMadeInTurns(t *testing.T) {
	q := newHashQueue()
	q.busy, q.took = hashesAtOnce, time.Second
	enemy, home := Stranger("192.0.2.1"), Stranger("198.51.100.1")
	for i := range 11 { // all of one site, by whatever address
		q.crowd(Stranger(fmt.Sprintf("192.0.2.%d", i+2)), 1)
	}
	if err := q.room(enemy); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("another of the site: %v", err)
	}
	if err := q.room(home); err != nil {
		t.Errorf("another site: %v", err)
	}
	mine := make(chan struct{})
	q.findLine(home).push(home.Name, mine)
	first, second := make(chan struct{}), make(chan struct{})
	for _, turn := range []chan struct{}{first, second} {
		q.findLine(Asker{Known: true}).push("session", turn)
	}
	called := func(turn chan struct{}) bool {
		select {
		case <-turn:
			return true
		default:
			return false
		}
	}
	for n, want := range [][3]bool{{true, false, false}, {true, true, false}, {true, true, false}, {true, true, true}} {
		q.leave(time.Now())
		if got := [3]bool{called(first), called(second), called(mine)}; got != want {
			t.Errorf("after %d turns: %v, want %v", n+1, got, want)
		}
	}
	for q.strangers.waiting > 0 {
		q.leave(time.Now())
	}
	if len(q.strangers.of) != 0 || len(q.strangers.order) != 0 {
		t.Errorf("%v stays of who has gone", q.strangers.order)
	}
}
