package claim_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/dispatch"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func seats(n int) func(*fleet.Registration) {
	return func(r *fleet.Registration) { r.MaxConcurrentJobs, r.Factory.Seats = n, n }
}

// takes claims as many jobs as the agent may have, of up to ten.
func (w *testWorkspace) takes(agent tenancy.Principal, want int) []lease.Ref {
	w.T.Helper()
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 10})
	if err != nil || len(got.Jobs) != want {
		w.T.Fatalf("%s got %d jobs (%s), %v; want %d", agent.Name, len(got.Jobs), got.Reason, err, want)
	}
	var refs []lease.Ref
	for _, j := range got.Jobs {
		refs = append(refs, ref(j))
	}
	return refs
}

// A lease that was given long ago holds its seat, however many came and went since.
func TestAnOldLeaseKeepsItsSeat(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1", seats(3))
	for range 16 {
		w.Job("job")
	}
	old := w.takes(agent, 3)[0]
	for range 4 {
		held := dbfactory.Text(t, w.DB, `SELECT j.key FROM job_lease l JOIN job j ON j.id = l.job_id ORDER BY l.number DESC LIMIT 1`)
		if _, err := w.Dispatch.Complete(w.Ctx, agent, lease.Ref{Job: held, Epoch: 1}, report.Completion{}); err != nil {
			t.Fatal(err)
		}
		w.takes(agent, 1)
		w.takes(agent, 0)
	}
	if _, err := w.Dispatch.Complete(w.Ctx, agent, old, report.Completion{}); err != nil {
		t.Fatal(err)
	}
	w.takes(agent, 1)
	w.takes(agent, 0)
}

// What another process gave is counted here, by numbers that are higher than any
// that this one has seen.
func TestSeatsThatAnotherProcessGaveAreTaken(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1", seats(2))
	other := inWorkspace(t, w.DB, w.Workspace)
	for range 6 {
		w.Job("job")
	}
	for _, r := range w.takes(agent, 2) {
		if _, err := w.Dispatch.Complete(w.Ctx, agent, r, report.Completion{}); err != nil {
			t.Fatal(err)
		}
	}
	other.takes(agent, 2)
	w.takes(agent, 0)
}

// An agent that moved is counted with those of its new factory, all of them.
func TestSeatsOfAnotherFactoryAreCountedFromItsBeginning(t *testing.T) {
	w := newTestWorkspace(t)
	in := func(factory string, boot string) func(*fleet.Registration) {
		return func(r *fleet.Registration) { r.Factory.Name, r.Factory.Seats, r.BootID = factory, 2, boot }
	}
	for range 6 {
		w.Job("job")
	}
	w.takes(w.Agent("resident", in("new", "boot-1")), 2)
	mover := w.Agent("mover", in("old", "boot-1"))
	for _, r := range w.takes(mover, 2) {
		if _, err := w.Dispatch.Complete(w.Ctx, mover, r, report.Completion{}); err != nil {
			t.Fatal(err)
		}
	}
	w.takes(mover, 2)
	w.takes(w.Agent("mover", in("new", "boot-2")), 0)
}

// While a snapshot keeps ended leases from being removed, seats are counted
// without them.
func TestSeatsAreNotCountedAmongEndedLeases(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("before")
	w.takes(agent, 1)
	w.holdSnapshot()
	dbfactory.Exec(t, w.DB, `INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, ttl_seconds, expires_at)
		SELECT l.workspace_id, gen_random_uuid(), 1, l.agent_id, l.factory_id, 900, now() + interval '1 hour'
		FROM job_lease l, generate_series(1, 20000)`)
	dbfactory.Exec(t, w.DB, `DELETE FROM job_lease`)
	w.Job("ended before it was counted")
	w.takes(agent, 1)
	unknowing := dispatch.New(w.DB, w.Jobs, w.Wake, w.Tokens, nil, nil, nil)
	t.Cleanup(unknowing.Close)
	for _, from := range []struct {
		name   string
		params dbsqlc.AgentsForClaimParams
		dear   bool
	}{
		{"from the beginning", seatsFrom(unknowing, w.Workspace, agent.Agent), true},
		{"from where they begin", seatsFrom(w.Dispatch, w.Workspace, agent.Agent), false},
	} {
		blocks := w.blocksOfSeats(from.params)
		if dear := blocks > 100; dear != from.dear {
			t.Errorf("%s %d blocks of leases were read", from.name, blocks)
		}
	}
}

// blocksOfSeats counts the seats and gives how many blocks of leases that read.
func (w *testWorkspace) blocksOfSeats(params dbsqlc.AgentsForClaimParams) (blocks int) {
	w.T.Helper()
	err := w.DB.In(w.Ctx, db.Workspace(w.Workspace), func(tx db.Tx) error {
		const read = `SELECT pg_stat_get_xact_blocks_fetched('job_lease'::regclass)
			+ pg_stat_get_xact_blocks_fetched('job_lease_agent'::regclass) + pg_stat_get_xact_blocks_fetched('job_lease_factory'::regclass)`
		var before int
		if err := tx.QueryRow(w.Ctx, read).Scan(&before); err != nil {
			return err
		}
		rows, err := dbsqlc.New().AgentsForClaim(w.Ctx, tx, params)
		if err != nil {
			return err
		}
		if len(rows) != 1 || rows[0].Taken != 1 || rows[0].FactoryTaken != 1 {
			w.T.Errorf("seats are %+v", rows)
		}
		err = tx.QueryRow(w.Ctx, read).Scan(&blocks)
		blocks -= before
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return blocks
}

// seatsFrom returns what the next claim of an agent queries of its seats.
func seatsFrom(d *dispatch.Service, workspace, agent ids.ID) dbsqlc.AgentsForClaimParams {
	number, ofFactory := d.SeatsFrom(agent)
	return dbsqlc.AgentsForClaimParams{WorkspaceID: workspace, Ids: []ids.ID{agent}, FromNumbers: []int64{number},
		Factories: []ids.ID{d.FactoryOf(agent)}, FactoryNumbers: []int64{ofFactory}}
}
