package report_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// crew is some agents, each with a job.
type crew struct {
	*testWorkspace
	agents []tenancy.Principal
	held   []jobs.Job
}

func newCrew(t *testing.T, n int) *crew {
	t.Helper()
	c := &crew{testWorkspace: newTestWorkspace(t)}
	for i := range n {
		c.agents = append(c.agents, c.Agent(fmt.Sprint("claude-", i)))
		c.Job(fmt.Sprint("job ", i))
		c.held = append(c.held, c.Claim(c.agents[i]))
	}
	return c
}

func (c *crew) beats(leases ...report.HeartbeatLease) []report.Said {
	var list []report.Said
	for _, a := range c.agents {
		list = append(list, report.Said{Who: a, Beat: report.Heartbeat{Agent: a.Name, BootID: a.Boot, Status: "working", Leases: leases}})
	}
	return list
}

// Whoever holds the lock of an agent, a lease or a job for long keeps nobody
// waiting but the agent whose it is.
func TestALockHoldsUpNoNeighbour(t *testing.T) {
	for name, lock := range map[string]func(c *crew) (sql string, id any){
		"agent": func(c *crew) (string, any) {
			return `SELECT FROM agent WHERE id = $1 FOR UPDATE`, c.agents[1].Agent
		},
		"lease": func(c *crew) (string, any) {
			return `SELECT FROM job_lease WHERE job_id = $1 FOR UPDATE`, c.held[1].ID
		},
		"job": func(c *crew) (string, any) {
			return `SELECT FROM job WHERE id = $1 FOR UPDATE`, c.held[1].ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t, 3)
			tx, err := dbtest.Owner(t, c.DB).Begin(c.Ctx)
			if err != nil {
				t.Fatal(err)
			}
			sql, id := lock(c)
			if _, err := tx.Exec(c.Ctx, sql, id); err != nil {
				t.Fatal(err)
			}
			// Each reports on its job for the first time: that starts it.
			said := c.beats()
			for i, j := range c.held {
				said[i].Beat.Leases = []report.HeartbeatLease{{Job: j.Key, Epoch: j.Epoch, ProgressPercent: number(30)}}
			}
			var freed sync.WaitGroup
			freed.Add(2)
			heard := make([]report.Heard, 3)
			var locked sync.WaitGroup
			locked.Add(1)
			c.Dispatch.AnswerBeats(c.Ctx, c.Workspace, said, func(i int, h report.Heard) {
				heard[i] = h
				if i == 1 {
					locked.Done()
				} else {
					freed.Done()
				}
			})
			freed.Wait() // while the lock is held
			if err := tx.Rollback(c.Ctx); err != nil {
				t.Fatal(err)
			}
			locked.Wait()
			for i, h := range heard {
				if h.Alone != (i == 1) {
					t.Errorf("heartbeat %d was run alone: %t", i, h.Alone)
				}
				if h.Err != nil || len(h.Beat.Leases) != 1 || h.Beat.Leases[0].Directive != lease.Continue {
					t.Errorf("agent %d was told %+v, %v", i, h.Beat.Leases, h.Err)
				}
				if now := c.Want(c.held[i], jobs.Running); now.ProgressPercent == nil || *now.ProgressPercent != 30 {
					t.Errorf("progress of %s is %v", now.Key, now.ProgressPercent)
				}
			}
			c.Consistent()
		})
	}
}

// A heartbeat that the database does not take, for a reason that nobody thought
// of, fails alone.
func TestAHeartbeatThatCannotBeWrittenFailsAlone(t *testing.T) {
	c := newCrew(t, 3)
	dbfactory.Exec(t, c.DB, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.name = 'claude-1' THEN RAISE 'not this one'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER refuse BEFORE UPDATE ON agent FOR EACH ROW EXECUTE FUNCTION refuse()`)
	for i, h := range c.Dispatch.BeatsTogether(c.Ctx, c.Workspace, c.beats()) {
		if (h.Err != nil) != (i == 1) || i != 1 && len(h.Beat.Leases) != 1 {
			t.Errorf("agent %d was told %+v, %v", i, h.Beat.Leases, h.Err)
		}
	}
}

// What a report may not say is refused to whoever says it.
func TestABadReportIsRefusedAlone(t *testing.T) {
	c := newCrew(t, 3)
	long := string(make([]byte, 100)) // 100 zeros, which no text of the database holds
	var done sync.WaitGroup
	errs := make([]error, 3)
	for i, j := range c.held {
		done.Go(func() {
			p := report.Progress{Percent: number(10)}
			if i == 1 {
				p.Step, p.Checkpoint = &long, json.RawMessage(`{"at": "\u0000"}`)
			}
			_, errs[i] = c.Dispatch.Progress(c.Ctx, c.agents[i], ref(j), p)
		})
	}
	done.Wait()
	for i, err := range errs {
		if (err != nil) != (i == 1) {
			t.Errorf("report %d: %v", i, err)
		}
	}
	c.Consistent()
}

// Two heartbeats of one agent in a run are two: the later one is written too.
func TestTwoHeartbeatsOfOneAgentInARun(t *testing.T) {
	c := newCrew(t, 2)
	said := append(c.beats(), c.beats()...)
	said[2].Beat.Status = "blocked"
	heard := c.Dispatch.BeatsTogether(c.Ctx, c.Workspace, said)
	for i, h := range heard {
		if h.Err != nil || h.Alone != (i >= 2) {
			t.Errorf("heartbeat %d: alone: %v, %v", i, h.Alone, h.Err)
		}
	}
	if got := dbfactory.Text(t, c.DB, `SELECT status FROM agent WHERE id = $1`, c.agents[0].Agent); got != "blocked" {
		t.Errorf("the agent is %s; want blocked", got)
	}
}

// Whoever lists very many leases that are not its own is not waited for.
func TestAHeartbeatThatListsAThousandLeases(t *testing.T) {
	c := newCrew(t, 2)
	said := c.beats()
	for i := range 1000 {
		said[0].Beat.Leases = append(said[0].Beat.Leases, report.HeartbeatLease{Job: fmt.Sprint("NO-", i), Epoch: 1})
	}
	heard := c.Dispatch.BeatsTogether(c.Ctx, c.Workspace, said)
	if !heard[0].Alone || heard[0].Err != nil || len(heard[0].Beat.Leases) != 1001 || heard[1].Alone || heard[1].Err != nil {
		t.Errorf("alone: %v and %v; %d leases; %v, %v", heard[0].Alone, heard[1].Alone, len(heard[0].Beat.Leases), heard[0].Err, heard[1].Err)
	}
	for _, l := range heard[0].Beat.Leases[1:] {
		if l.Directive != lease.Fenced || l.Reason != string(fault.NotFound) {
			t.Fatalf("%+v", l)
		}
	}
}

// Secrets do not get into steps that are written together either.
func TestStepsThatAreWrittenTogetherHideSecrets(t *testing.T) {
	c := &crew{testWorkspace: newTestWorkspace(t)}
	for i := range 2 {
		c.agents = append(c.agents, c.Agent(fmt.Sprint("claude-", i)))
		c.Job(fmt.Sprint("job ", i), secret)
		c.held = append(c.held, c.Claim(c.agents[i]))
	}
	step := "log in with " + canary
	var reports []report.Said
	for i, j := range c.held {
		reports = append(reports, report.Said{Who: c.agents[i], Ref: ref(j),
			Report: report.Report{Starts: true, IsProgress: true, Progress: report.Progress{Step: &step}}})
	}
	for i, h := range c.Dispatch.ReportsTogether(c.Ctx, c.Workspace, reports) {
		if h.Err != nil || h.Alone {
			t.Errorf("report %d: alone: %v, %v", i, h.Alone, h.Err)
		}
	}
	if n := dbfactory.Int(t, c.DB, `SELECT (SELECT count(*) FROM job_lease WHERE current_step LIKE '%' || $1 || '%')
		+ (SELECT count(*) FROM event WHERE changes::text LIKE '%' || $1 || '%')`, canary); n != 0 {
		t.Errorf("%d rows hold the secret", n)
	}
	if got := c.Get(c.held[0]).CurrentStep; got == "" {
		t.Error("the step was not written")
	}
}

// Heartbeats rewrite rows where they lie: no index learns of them.
func TestHeartbeatsEnterNoIndex(t *testing.T) {
	w := newTestWorkspace(t)
	for table, columns := range map[string]string{
		"agent":     "{last_heartbeat_at,status,memory_mb,cpu_percent}",
		"job_lease": "{expires_at,ttl_seconds,progress_percent,current_step,progress_at,checkpoint}",
	} {
		found := dbfactory.Text(t, w.DB, `SELECT concat_ws(', ', VARIADIC ARRAY(SELECT c.relname || ' on ' || a.attname
			FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
			JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
			WHERE i.indrelid = $1::text::regclass AND d.refobjid = i.indrelid AND a.attname = ANY($2::text::name[])))`, table, columns)
		if found != "" {
			t.Errorf("rewriting %s enters %s", table, found)
		}
		if room := dbfactory.Text(t, w.DB, `SELECT array_to_string(reloptions, ' ') FROM pg_class WHERE oid = $1::text::regclass`, table); room == "" {
			t.Errorf("%s has no settings", table)
		}
	}
}
