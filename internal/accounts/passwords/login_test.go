package passwords_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/throttle"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// More log ins wait than the pool has connections, and none of them holds one.
func TestWaitingLogInsHoldNoConnection(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	s.Hashes.Fill()
	s.Hashes.SetTook(time.Millisecond) // however slow this machine is, there is capacity
	const waiting = 50
	ctx, goAway := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() { goAway(); wg.Wait() }()
	for i := range waiting {
		wg.Go(func() {
			_, err := s.LogIns.LogIn(ctx, fmt.Sprintf("p%d@example.org", i), accountstest.Password, devices.Origin{Address: fmt.Sprintf("192.0.2.%d", i)})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("log in %d: %v", i, err)
			}
		})
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := accountstest.Timeout(t)
	for s.Hashes.Queued() < waiting {
		select {
		case <-tick.C:
		case <-late.Done():
			t.Fatalf("%d log ins wait", s.Hashes.Queued())
		}
	}
	if n := accountstest.Count(t, conn, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
		AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'`); n != 0 {
		t.Errorf("%d connections are busy while everybody waits", n)
	}
	if _, err := s.People.Profile(t.Context(), s.Owner(t)); err != nil {
		t.Errorf("a page beside them: %v", err)
	}
}

// A queue that is too long takes nobody in, and what was not tried is not counted.
func TestLogInsAreRefusedWhereTheQueueIsLong(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	s.Hashes.Fill()
	s.Hashes.SetTook(time.Second)
	for i := range 11 {
		s.Hashes.Crowd(passwords.Stranger(fmt.Sprintf("198.51.%d.1", i)), 1)
	}
	_, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, accountstest.From(accountstest.Address))
	f := accountstest.Refusal(t, err, fault.Unavailable)
	if wait, _ := f.Details["retry_after"].(int); wait < 10 || wait > 12 {
		t.Errorf("details %v", f.Details)
	}
	_, err = s.Hashes.Hash(t.Context(), passwords.Stranger(accountstest.Address), accountstest.Password)
	accountstest.WantFault(t, err, fault.Unavailable)

	// One that was let in, and found the queue full when it got there.
	try := s.Throttle.At(throttle.Password, accountstest.Email, accountstest.Address)
	if err := s.Throttle.Take(t.Context(), try); err != nil {
		t.Fatal(err)
	}
	accountstest.WantFault(t, s.Throttle.Undo(t.Context(), try, passwords.TooBusy()), fault.Unavailable)
	if n := accountstest.Count(t, conn, "SELECT coalesce(sum(failures), 0) FROM login_throttle"); n != 0 {
		t.Errorf("%d failures are counted, and nothing was tried", n)
	}
	// Whoever is known to the server waits for no unknown caller.
	s.Hashes.Free()
	if _, err := s.Hashes.Hash(t.Context(), passwords.Asker{Name: "account " + s.Owner(t).Account.String(), Known: true}, accountstest.Password); err != nil {
		t.Errorf("somebody who is logged in: %v", err)
	}
	s.Hashes.Empty()
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, accountstest.From(accountstest.Address)); err != nil {
		t.Errorf("when they have gone: %v", err)
	}
}

// How long a log in takes must not reveal whether there is such an account. The
// bound is wide, for slow machines; without a hash for nobody the answer is a
// hundred times as fast.
func TestUnknownPeopleTakeAsLong(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	*s.Hashes = *passwords.New(passwords.DefaultCost)
	hash, err := s.Hashes.Hash(t.Context(), passwords.Stranger(accountstest.Address), accountstest.Password)
	if err != nil {
		t.Fatal(err)
	}
	accountstest.Exec(t, conn, "UPDATE account SET password_hash = $1", hash)
	taken := map[string][]time.Duration{}
	for range 9 {
		for _, email := range []string{accountstest.Email, "nobody@example.org"} {
			accountstest.Exec(t, conn, "DELETE FROM login_throttle")
			began := time.Now()
			_, err := s.LogIns.LogIn(t.Context(), email, "not the password", accountstest.From(accountstest.Address))
			accountstest.WantFault(t, err, fault.Unauthenticated)
			taken[email] = append(taken[email], time.Since(began))
		}
	}
	known, unknown := median(taken[accountstest.Email]), median(taken["nobody@example.org"])
	if unknown < known/2 || unknown > known*2 {
		t.Errorf("a known person's log in takes %s, an unknown one's %s", known, unknown)
	}
	t.Logf("known %s, unknown %s", known, unknown)
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}
