package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fleetboard/db/dbtest"
	"fleetboard/internal/fault"
)

// fill takes all places of the hashes, so that others wait.
func (p *passwords) fill() {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	p.queue.busy = hashesAtOnce
}

func (p *passwords) queued() int {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	return p.queue.known.waiting + p.queue.strangers.waiting
}

// crowd lets n wait under one name who never go.
func (q *hashQueue) crowd(who asker, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range n {
		q.lineOf(who).push(who.name, make(chan struct{}))
	}
}

// More log ins wait than the pool has connections, and none of them holds one.
func TestWaitingLogInsHoldNoConnection(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	s.loginService.passwords.fill()
	s.loginService.passwords.queue.took = time.Millisecond // however slow this machine is, there is room
	const waiting = 50
	ctx, goAway := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() { goAway(); wg.Wait() }()
	for i := range waiting {
		wg.Go(func() {
			_, err := s.LogIn(ctx, fmt.Sprintf("p%d@example.org", i), testPassword, Origin{Address: fmt.Sprintf("192.0.2.%d", i)})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("log in %d: %v", i, err)
			}
		})
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := timeout(t)
	for s.loginService.passwords.queued() < waiting {
		select {
		case <-tick.C:
		case <-late.Done():
			t.Fatalf("%d log ins wait", s.loginService.passwords.queued())
		}
	}
	if n := count(t, conn, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
		AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'`); n != 0 {
		t.Errorf("%d connections are busy while everybody waits", n)
	}
	if _, err := s.Profile(t.Context(), s.owner(t)); err != nil {
		t.Errorf("a page beside them: %v", err)
	}
}

// A queue that is too long takes nobody in, and what was not tried is not counted.
func TestLogInsAreRefusedWhereTheQueueIsLong(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	s.loginService.passwords.fill()
	s.loginService.passwords.queue.took = time.Second
	for i := range 11 {
		s.loginService.passwords.queue.crowd(stranger(fmt.Sprintf("198.51.%d.1", i)), 1)
	}
	_, err := s.LogIn(t.Context(), testEmail, testPassword, at(testAddress))
	f := refusal(t, err, fault.Unavailable)
	if wait, _ := f.Details["retry_after"].(int); wait < 10 || wait > 12 {
		t.Errorf("details %v", f.Details)
	}
	_, err = s.loginService.passwords.hash(t.Context(), stranger(testAddress), testPassword)
	wantFault(t, err, fault.Unavailable)

	// One that was let in, and found the queue full when it got there.
	try := s.loginService.throttle.attemptAt(logInPassword, testEmail, testAddress)
	if err := s.loginService.throttle.take(t.Context(), try); err != nil {
		t.Fatal(err)
	}
	wantFault(t, s.loginService.throttle.undo(t.Context(), try, tooBusy(maxQueue)), fault.Unavailable)
	if n := count(t, conn, "SELECT coalesce(sum(failures), 0) FROM login_throttle"); n != 0 {
		t.Errorf("%d failures are counted, and nothing was tried", n)
	}
	// Whoever is known to the server waits for no stranger.
	s.loginService.passwords.queue.busy = 0
	if _, err := s.loginService.passwords.hash(t.Context(), loggedIn(s.owner(t).Account), testPassword); err != nil {
		t.Errorf("somebody who is logged in: %v", err)
	}
	s.loginService.passwords.queue = newHashQueue()
	if _, err := s.LogIn(t.Context(), testEmail, testPassword, at(testAddress)); err != nil {
		t.Errorf("when they have gone: %v", err)
	}
}

// How long a log in takes must not tell whether there is such an account. The
// bound is wide, for slow machines; without a hash for nobody the answer is a
// hundred times as fast.
func TestUnknownPeopleTakeAsLong(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	*s.loginService.passwords = *newPasswords(hashCost)
	hash, err := s.loginService.passwords.hash(t.Context(), stranger(testAddress), testPassword)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "UPDATE account SET password_hash = $1", hash)
	taken := map[string][]time.Duration{}
	for range 9 {
		for _, email := range []string{testEmail, "nobody@example.org"} {
			exec(t, conn, "DELETE FROM login_throttle")
			began := time.Now()
			_, err := s.LogIn(t.Context(), email, "not the password", at(testAddress))
			wantFault(t, err, fault.Unauthenticated)
			taken[email] = append(taken[email], time.Since(began))
		}
	}
	known, unknown := median(taken[testEmail]), median(taken["nobody@example.org"])
	if unknown < known/2 || unknown > known*2 {
		t.Errorf("a known person's log in takes %s, an unknown one's %s", known, unknown)
	}
	t.Logf("known %s, unknown %s", known, unknown)
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}
