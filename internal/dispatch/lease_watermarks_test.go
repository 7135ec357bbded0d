package dispatch_test

import (
	"testing"

	"fleetboard/db"
	"fleetboard/db/dbfactory"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/fleet"
	"fleetboard/internal/tenancy"
)

func seats(n int) func(*fleet.Registration) {
	return func(r *fleet.Registration) { r.MaxConcurrentJobs, r.Factory.Seats = n, n }
}

// takes claims as many jobs as the agent may have, of up to ten.
func (w *world) takes(agent tenancy.Principal, want int) []dispatch.Ref {
	w.t.Helper()
	got, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{Max: 10})
	if err != nil || len(got.Jobs) != want {
		w.t.Fatalf("%s got %d jobs (%s), %v; want %d", agent.Name, len(got.Jobs), got.Reason, err, want)
	}
	var refs []dispatch.Ref
	for _, j := range got.Jobs {
		refs = append(refs, ref(j))
	}
	return refs
}

// A lease that was given long ago holds its seat, however many came and went since.
func TestAnOldLeaseKeepsItsSeat(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1", seats(3))
	for range 16 {
		w.job("job")
	}
	old := w.takes(agent, 3)[0]
	for range 4 {
		held := dbfactory.Text(t, w.db, `SELECT j.key FROM job_lease l JOIN job j ON j.id = l.job_id ORDER BY l.number DESC LIMIT 1`)
		if _, err := w.dispatch.Complete(w.ctx, agent, dispatch.Ref{Job: held, Epoch: 1}, dispatch.Completion{}); err != nil {
			t.Fatal(err)
		}
		w.takes(agent, 1)
		w.takes(agent, 0)
	}
	if _, err := w.dispatch.Complete(w.ctx, agent, old, dispatch.Completion{}); err != nil {
		t.Fatal(err)
	}
	w.takes(agent, 1)
	w.takes(agent, 0)
}

// What another process gave is counted here, by numbers that are higher than any
// that this one has seen.
func TestSeatsThatAnotherProcessGaveAreTaken(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1", seats(2))
	other := inWorkspace(t, w.db, w.workspace)
	for range 6 {
		w.job("job")
	}
	for _, r := range w.takes(agent, 2) {
		if _, err := w.dispatch.Complete(w.ctx, agent, r, dispatch.Completion{}); err != nil {
			t.Fatal(err)
		}
	}
	other.takes(agent, 2)
	w.takes(agent, 0)
}

// An agent that moved is counted with those of its new factory, all of them.
func TestSeatsOfAnotherFactoryAreCountedFromItsBeginning(t *testing.T) {
	w := newWorld(t)
	in := func(factory string, boot string) func(*fleet.Registration) {
		return func(r *fleet.Registration) { r.Factory.Name, r.Factory.Seats, r.BootID = factory, 2, boot }
	}
	for range 6 {
		w.job("job")
	}
	w.takes(w.agent("resident", in("new", "boot-1")), 2)
	mover := w.agent("mover", in("old", "boot-1"))
	for _, r := range w.takes(mover, 2) {
		if _, err := w.dispatch.Complete(w.ctx, mover, r, dispatch.Completion{}); err != nil {
			t.Fatal(err)
		}
	}
	w.takes(mover, 2)
	w.takes(w.agent("mover", in("new", "boot-2")), 0)
}

// While a snapshot keeps ended leases from being removed, seats are counted
// without them.
func TestSeatsAreNotCountedAmongEndedLeases(t *testing.T) {
	w := newWorld(t)
	agent := w.agent("claude-1")
	w.job("before")
	w.takes(agent, 1)
	w.holdSnapshot()
	dbfactory.Exec(t, w.db, `INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, ttl_seconds, expires_at)
		SELECT l.workspace_id, gen_random_uuid(), 1, l.agent_id, l.factory_id, 900, now() + interval '1 hour'
		FROM job_lease l, generate_series(1, 20000)`)
	dbfactory.Exec(t, w.db, `DELETE FROM job_lease`)
	w.job("ended before it was counted")
	w.takes(agent, 1)
	unknowing := dispatch.New(w.db, w.jobs, w.wake, w.tokens, nil)
	t.Cleanup(unknowing.Close)
	for _, from := range []struct {
		name   string
		params dbsqlc.AgentsForClaimParams
		dear   bool
	}{
		{"from the beginning", unknowing.CountingSeats(w.workspace, agent.Agent), true},
		{"from where they begin", w.dispatch.CountingSeats(w.workspace, agent.Agent), false},
	} {
		blocks := w.blocksOfSeats(from.params)
		if dear := blocks > 100; dear != from.dear {
			t.Errorf("%s %d blocks of leases were read", from.name, blocks)
		}
	}
}

// blocksOfSeats counts the seats and gives how many blocks of leases that read.
func (w *world) blocksOfSeats(params dbsqlc.AgentsForClaimParams) (blocks int) {
	w.t.Helper()
	err := w.db.InWorkspace(w.ctx, w.workspace, func(tx db.Tx) error {
		const read = `SELECT pg_stat_get_xact_blocks_fetched('job_lease'::regclass)
			+ pg_stat_get_xact_blocks_fetched('job_lease_agent'::regclass) + pg_stat_get_xact_blocks_fetched('job_lease_factory'::regclass)`
		var before int
		if err := tx.QueryRow(w.ctx, read).Scan(&before); err != nil {
			return err
		}
		rows, err := dbsqlc.New().AgentsForClaim(w.ctx, tx, params)
		if err != nil {
			return err
		}
		if len(rows) != 1 || rows[0].AgentTaken != 1 || rows[0].FactoryTaken != 1 {
			w.t.Errorf("seats are %+v", rows)
		}
		err = tx.QueryRow(w.ctx, read).Scan(&blocks)
		blocks -= before
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return blocks
}
