package dispatchtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Crew is many agents that do something at the same moment.
func (w *Fixture) Crew(n int, change ...func(*fleet.Registration)) []tenancy.Principal {
	agents := make([]tenancy.Principal, n)
	for i := range agents {
		agents[i] = w.Agent(fmt.Sprint("agent-", i), change...)
	}
	return agents
}

// AtOnce runs do for each agent at the same time.
func AtOnce(agents []tenancy.Principal, do func(i int, agent tenancy.Principal)) {
	var all sync.WaitGroup
	for i, a := range agents {
		all.Go(func() { do(i, a) })
	}
	all.Wait()
}

// Hold locks a row until release is called.
func (w *Fixture) Hold(sql string, args ...any) (release func()) {
	w.T.Helper()
	conn := dbtest.Owner(w.T, w.DB)
	tx, err := conn.Begin(w.Ctx)
	if err != nil {
		w.T.Fatal(err)
	}
	if _, err := tx.Exec(w.Ctx, sql, args...); err != nil {
		w.T.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(context.WithoutCancel(w.Ctx)); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			w.T.Error(err)
		}
	}
}

// Blocked waits until n transactions of this database wait for a lock.
func (w *Fixture) Blocked(n int) {
	w.T.Helper()
	owner := dbtest.Owner(w.T, w.DB)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 150 { // less than a statement may wait for a lock
		var waiting int
		err := owner.QueryRow(w.Ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil {
			w.T.Fatal(err)
		}
		if waiting >= n {
			return
		}
		<-tick.C
	}
	w.T.Fatal("nobody waits for the lock")
}

// Waits returns once a claim waits in this process.
func (w *Fixture) Waits() {
	w.T.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for w.Dispatch.Waiting(w.Workspace) == 0 {
		select {
		case <-tick.C:
		case <-w.Ctx.Done():
			w.T.Fatal("no claim waits")
		}
	}
}
