package dispatch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// racer is one side of a race; it says whether it had its way.
type racer struct {
	name string
	run  func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error
}

var (
	completes = racer{"complete", func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Complete(w.Ctx, a, ref(j), report.Completion{Commit: "abc"})
		return err
	}}
	completesOtherwise = racer{"another completion", func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Complete(w.Ctx, a, ref(j), report.Completion{Commit: "def"})
		return err
	}}
	fails = racer{"fail", func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Fail(w.Ctx, a, ref(j), report.Failure{Error: "x", Retryable: true})
		return err
	}}
	releases = racer{"release", func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Release(w.Ctx, a, ref(j), report.Release{Checkpoint: []byte(`{"at": 1}`)})
		return err
	}}
	starts = racer{"start", func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Start(w.Ctx, a, ref(j), nil)
		return err
	}}
	beats = racer{"heartbeat", func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
		answer, err := w.Dispatch.Heartbeat(w.Ctx, a, report.Heartbeat{Agent: a.Name, BootID: a.Boot, Status: "working",
			Leases: []report.HeartbeatLease{{Job: j.Key, Epoch: j.Epoch, ProgressPercent: number(10)}}})
		if err == nil && (len(answer.Leases) != 1 || answer.Leases[0].Directive == lease.Fenced) {
			return errLost
		}
		return err
	}}
	reaps     = takesBack("reap", func(w *testWorkspace, _ jobs.Job) (int, error) { return w.Dispatch.Reap(w.Ctx) })
	reclaims  = takesBack("reclaim", func(w *testWorkspace, j jobs.Job) (int, error) { return w.Dispatch.Reclaim(w.Ctx, w.Owner, j.Key) })
	cancels   = acts(jobs.ByCancel)
	pauses    = acts(jobs.ByPause)
	takesAway = acts(jobs.ByRelease)
	answers   = acts(jobs.ByAnswer)
	unblocks  = acts(jobs.ByUnblock)
	approves  = acts(jobs.ByApprove)
	rejects   = acts(jobs.ByReject)
	timesOut  = takesBack("time-out", func(w *testWorkspace, _ jobs.Job) (int, error) { return w.Dispatch.TimeOut(w.Ctx) })
	warns     = takesBack("warn", func(w *testWorkspace, _ jobs.Job) (int, error) { return w.Dispatch.Warn(w.Ctx) })
	asks      = racer{"ask", func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Ask(w.Ctx, a, ref(j), report.Question{Text: "Which?", Checkpoint: []byte(`{"at": 1}`)})
		return err
	}}
	links = racer{"link", func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) error {
		_, err := w.Jobs.Link(w.Ctx, w.Owner, j.Key, w.first().Key, jobs.Blocks)
		return err
	}}
	gatesOther = racer{"gate for another", func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) error {
		_, err := w.Jobs.LinkParent(w.Ctx, w.Owner, j.Key, w.first().Key, true)
		return err
	}}
	gated = racer{"gate", func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) error {
		_, err := w.Jobs.LinkParent(w.Ctx, w.Owner, w.first().Key, j.Key, true)
		return err
	}}
	reboots = racer{"register again", func(w *testWorkspace, a tenancy.Principal, _ jobs.Job) error {
		w.T.Helper()
		_, err := w.Dispatch.Register(w.Ctx, dbfactory.Enrolment(w.Workspace), fleet.Registration{Agent: a.Name, BootID: "boot-2",
			MaxConcurrentJobs: 100, Factory: fleet.FactoryInfo{Name: a.Factory, OS: "linux", Seats: 1000}})
		return err
	}}
	ends = racer{"terminate", func(w *testWorkspace, a tenancy.Principal, _ jobs.Job) error {
		_, err := w.Dispatch.Terminate(w.Ctx, w.Owner, a.Name, "enough", false)
		return err
	}}
	claims = racer{"claim", func(w *testWorkspace, a tenancy.Principal, _ jobs.Job) error {
		got, err := w.Dispatch.Claim(w.Ctx, a, claim.Request{})
		if err == nil && len(got.Jobs) == 0 {
			return errLost
		}
		return err
	}}
	moves = racer{"patch of the lane", func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) error {
		_, err := w.Jobs.Patch(w.Ctx, w.Owner, j.Key, jobs.Patch{Version: j.Version,
			Spec: jobs.Spec{Capabilities: []string{"gpu:h100"}}, Set: []string{"capabilities"}})
		return err
	}}
)

// first returns the workspace's oldest job.
func (w *testWorkspace) first() jobs.Job {
	w.T.Helper()
	return w.Get(jobs.Job{Key: dbfactory.Text(w.T, w.DB, `SELECT key FROM job WHERE workspace_id = $1 ORDER BY created_at LIMIT 1`, w.Workspace)})
}

// errLost is the answer of a racer that was let through and got nothing.
var errLost = errors.New("nothing was left to take")

func takesBack(name string, run func(*testWorkspace, jobs.Job) (int, error)) racer {
	return racer{name, func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) error {
		n, err := run(w, j)
		if err == nil && n == 0 {
			return errLost
		}
		return err
	}}
}

func acts(verb jobs.Trigger) racer {
	return racer{string(verb), func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Act(w.Ctx, w.Owner, j.Key, actions.Action{Verb: verb, Reason: "because"})
		return err
	}}
}

// Each pair is let loose on one job while a third transaction holds what both
// need, so that both are really under way when it lets go. Whatever the order,
// nothing deadlocks, the loser gets an error in words, and job, lease, attempt and
// ready row agree afterwards.
func TestRacesOnALeasedJob(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for _, c := range []struct {
		one, other racer
		wins       int  // how many may have their way, at most
		lapsed     bool // the agent is dead, so that the reaper wants the lease
	}{
		{completes, completesOtherwise, 1, false}, {completes, reclaims, 1, false}, {completes, reaps, 1, true},
		{beats, reaps, 2, true}, {beats, completes, 2, false}, {starts, completes, 2, false}, {reaps, reaps, 1, true},
		{releases, reaps, 1, true}, {releases, reclaims, 1, false}, {fails, completes, 1, false}, {completes, cancels, 2, false},
		{completes, pauses, 2, false}, {completes, takesAway, 1, false}, {completes, reboots, 2, false}, {beats, reboots, 2, false},
		{starts, reboots, 2, false}, {completes, ends, 2, false}, {releases, ends, 2, false}, {reboots, ends, 2, false},
		{reboots, reboots, 2, false}, {reaps, reboots, 2, true}, {asks, reaps, 1, true}, {asks, completes, 1, false},
		{asks, cancels, 2, false}, {asks, asks, 2, false}, {asks, asksOtherwise, 1, false}, {asks, reboots, 2, false}, {timesOut, completes, 1, false},
		{timesOut, asks, 1, false}, {timesOut, timesOut, 1, false}, {timesOut, reaps, 1, true}, {timesOut, pauses, 2, false},
		{links, completes, 2, false}, {links, reaps, 2, true}, {beats, timesOut, 2, false},
		{gatesOther, completes, 2, false}, {gatesOther, fails, 2, false}, {gatesOther, reaps, 2, true}, {gatesOther, gatesOther, 2, false},
		{gated, releases, 2, false}, {gated, completes, 2, false},
	} {
		for _, hold := range []string{"job", "agent", "job_lease"} {
			t.Run(c.one.name+" and "+c.other.name+", "+hold+" held", func(t *testing.T) {
				w := inWorkspace(t, d, dbfactory.Workspace(t, d))
				agent := w.Agent("claude-1")
				w.Job("another", priority(1), needs("gpu:h100"))
				w.Job("one")
				held := w.Claim(agent)
				// Nobody gave a sign of life for a while: each call counts as a sign of life.
				dbfactory.Exec(t, w.DB, `UPDATE agent SET last_heartbeat_at = clock_timestamp() - interval '20 seconds'
					WHERE workspace_id = $1`, w.Workspace)
				if c.lapsed {
					w.silence()
				}
				dbfactory.Exec(t, w.DB, `UPDATE job_lease SET warned_at = clock_timestamp() - interval '1 hour' WHERE workspace_id = $1`, w.Workspace)
				errs := w.race(hold, agent, held, c.one, c.other)
				if won := w.judge(errs, c.one, c.other); won > c.wins || won == 0 {
					t.Errorf("%d had their way; at most %d may: %v", won, c.wins, errs)
				}
				w.Consistent()
			})
		}
	}
}

func TestRacesOnAReadyJob(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for _, c := range []struct {
		other racer
		wins  int
	}{
		{pauses, 2}, // a pause of a job that has just been taken directs its agent
		{cancels, 2}, {moves, 1}, {claims, 1}, {reboots, 2}, {ends, 2},
		{links, 2}, // a link of a job that has just been taken gates it once it is back
		{gated, 2},
	} {
		for _, hold := range []string{"job", "factory", "agent"} {
			t.Run("claim and "+c.other.name+", "+hold+" held", func(t *testing.T) {
				w := inWorkspace(t, d, dbfactory.Workspace(t, d))
				agent := w.Agent("claude-1")
				w.Job("another", needs("gpu:h100"))
				job := w.Job("one")
				errs := w.race(hold, agent, job, claims, c.other)
				if won := w.judge(errs, claims, c.other); won > c.wins || won == 0 {
					t.Errorf("%d had their way; at most %d may: %v", won, c.wins, errs)
				}
				w.Consistent()
				n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_lease l JOIN agent a ON a.id = l.agent_id
					WHERE a.workspace_id = $1 AND (a.terminated_at IS NOT NULL OR a.boot_id = 'boot-2')`, w.Workspace)
				if n != 0 {
					t.Errorf("%d leases of an agent that was given up", n)
				}
			})
		}
	}
}

// Warnings and changes of a lease, and what people do to a job that waits for them.
func TestRacesOfPeopleAndLoops(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	asked := func(w *testWorkspace, a tenancy.Principal, held jobs.Job) {
		if err := asks.run(w, a, held); err != nil {
			w.T.Fatal(err)
		}
	}
	handedIn := func(w *testWorkspace, a tenancy.Principal, held jobs.Job) { w.Complete(a, held) }
	late := func(w *testWorkspace, _ tenancy.Principal, held jobs.Job) { w.Passed(held, 60) }
	for _, c := range []struct {
		one, other racer
		wins       int
		begin      func(w *testWorkspace, a tenancy.Principal, held jobs.Job)
	}{
		{answers, unblocks, 1, asked}, {answers, answers, 1, asked}, {answers, cancels, 2, asked},
		{approves, rejects, 1, handedIn}, {approves, approves, 1, handedIn}, {approves, cancels, 2, handedIn},
		{rejects, cancels, 2, handedIn},
		{warns, pauses, 2, late}, {warns, warns, 1, late}, {warns, completes, 2, late}, {warns, beats, 2, late},
	} {
		for _, hold := range []string{"job", "job_lease", "job_ready"} {
			t.Run(c.one.name+" and "+c.other.name+", "+hold+" held", func(t *testing.T) {
				w := inWorkspace(t, d, dbfactory.Workspace(t, d))
				agent := w.Agent("claude-1")
				w.Job("one", reviewed, estimate(20))
				held := w.Claim(agent)
				c.begin(w, agent, held)
				errs := w.race(hold, agent, held, c.one, c.other)
				if won := w.judge(errs, c.one, c.other); won > c.wins || won == 0 {
					t.Errorf("%d had their way; at most %d may: %v", won, c.wins, errs)
				}
				if d := w.Get(held).Lease; d != nil && d.Directive == lease.Warn && d.GraceEndsAt != nil {
					t.Error("a warning has a grace")
				}
				w.Consistent()
			})
		}
	}
}

// silence makes every agent dead without touching a lease.
func (w *testWorkspace) silence() {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `UPDATE agent SET last_heartbeat_at = clock_timestamp() - interval '1 day' WHERE workspace_id = $1`, w.Workspace)
}

// race starts both racers while another transaction holds every row of a table,
// waits until PostgreSQL says that as many wait as will, and lets go.
func (w *testWorkspace) race(hold string, agent tenancy.Principal, j jobs.Job, racers ...racer) []error {
	w.T.Helper()
	conn := dbtest.Owner(w.T, w.DB)
	holder, err := conn.Begin(w.Ctx)
	if err != nil {
		w.T.Fatal(err)
	}
	defer func() { _ = holder.Rollback(context.WithoutCancel(w.Ctx)) }()
	if _, err := holder.Exec(w.Ctx, `SELECT 1 FROM `+pgx.Identifier{hold}.Sanitize()+` FOR UPDATE`); err != nil {
		w.T.Fatal(err)
	}
	errs := make([]error, len(racers))
	done := make([]chan struct{}, len(racers))
	var all sync.WaitGroup
	for i, r := range racers {
		done[i] = make(chan struct{})
		all.Go(func() { defer close(done[i]); errs[i] = r.run(w, agent, j) })
		w.underWay(holder, i+1, done[:i+1])
	}
	if err := holder.Rollback(w.Ctx); err != nil {
		w.T.Fatal(err)
	}
	all.Wait()
	return errs
}

// underWay waits until each of n racers has ended or waits for a lock.
func (w *testWorkspace) underWay(holder pgx.Tx, n int, done []chan struct{}) {
	w.T.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		var waiting int
		err := holder.QueryRow(w.Ctx, `SELECT count(*) FROM (SELECT DISTINCT l.pid FROM pg_locks l
			JOIN pg_database d ON d.oid = l.database OR l.database IS NULL
			WHERE NOT l.granted AND d.datname = current_database()
			AND l.pid IN (SELECT pid FROM pg_locks o WHERE o.database = d.oid)) w`).Scan(&waiting)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, d := range done {
			select {
			case <-d:
				waiting++
			default:
			}
		}
		if waiting >= n {
			return
		}
	}
	w.T.Fatal("the racers neither wait nor end")
}

// judge counts who had their way. Whoever had not must have been refused in
// words, and never because PostgreSQL found a deadlock.
func (w *testWorkspace) judge(errs []error, racers ...racer) int {
	w.T.Helper()
	won := 0
	for i, err := range errs {
		var pg *pgconn.PgError
		switch {
		case err == nil:
			won++
		case errors.As(err, &pg):
			w.T.Errorf("%s: %s: %v", racers[i].name, pg.Code, err)
		case !errors.Is(err, errLost) && !fault.From(err).Code.Conflict():
			w.T.Errorf("%s: %v; want a refusal as a conflict", racers[i].name, err)
		}
	}
	return won
}
