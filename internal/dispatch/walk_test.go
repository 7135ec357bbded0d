package dispatch_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"fleetboard/db/dbtest"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// walk is a few jobs, and the one agent that can do them, to which anything may
// happen next.
type walk struct {
	*world
	t       *rapid.T
	owner   *pgx.Conn // of the database
	lane    string    // the capability that only this walk's agent has
	agent   tenancy.Principal
	reached map[string]bool // statuses that any walk led through
	list    []jobs.Job
	held    []jobs.Job // as they were claimed; some leases have ended since
}

// Whatever happens to jobs, in whatever order: each change of a status has its
// one event, replaying them gives the present status, and leases, attempts and
// ready rows agree with it.
func TestTheLogTellsTheState(t *testing.T) {
	w := newWorld(t)
	conn := dbtest.Owner(t, w.db)
	walks, reached := 0, map[string]bool{}
	const rounds = 2 // of rapid's hundred walks
	for range rounds {
		rapid.Check(t, func(r *rapid.T) {
			walks++
			k := &walk{world: w, t: r, owner: conn, lane: fmt.Sprintf("walk:%d", walks), reached: reached}
			k.agent = w.agent(fmt.Sprintf("claude-%d", walks), func(r *fleet.Registration) { r.Capabilities = []string{k.lane} })
			if err := k.create(); err != nil {
				r.Fatal(err)
			}
			for range rapid.IntRange(10, 60).Draw(r, "steps") {
				k.step()
			}
			for _, j := range k.list {
				k.replay(j)
			}
		})
	}
	w.consistent()
	for _, status := range jobs.Statuses {
		if !reached[string(status)] {
			t.Errorf("no walk led through %s", status)
		}
	}
}

func (k *walk) step() {
	verbs := []jobs.Trigger{jobs.ByPause, jobs.ByResume, jobs.ByBlock, jobs.ByUnblock, jobs.ByCancel, jobs.ByRetry,
		jobs.ByReject, jobs.ByApprove, jobs.ByMerge, jobs.ByArchive, jobs.ByRelease}
	steps := map[string]func() error{
		"create": k.create, "claim": k.claimSome, "claim more": k.claimSome, "expire and reap": k.reap, "time passes": k.promote,
		"progress": k.onLease(func(r dispatch.Ref) error {
			_, err := k.dispatch.Progress(k.ctx, k.agent, r, dispatch.Progress{Percent: number(50)})
			return err
		}),
		"complete": k.onLease(func(r dispatch.Ref) error {
			_, err := k.dispatch.Complete(k.ctx, k.agent, r, dispatch.Completion{})
			return err
		}),
		"fail": k.onLease(func(r dispatch.Ref) error {
			_, err := k.dispatch.Fail(k.ctx, k.agent, r, dispatch.Failure{Error: "x", Retryable: rapid.Bool().Draw(k.t, "retryable")})
			return err
		}),
		"give back": k.onLease(func(r dispatch.Ref) error {
			_, err := k.dispatch.Release(k.ctx, k.agent, r, "", nil)
			return err
		}),
	}
	for _, verb := range verbs {
		steps[string(verb)] = func() error {
			_, err := k.dispatch.Act(k.ctx, k.world.owner, k.any(k.list).Key, dispatch.Action{Verb: verb, Reason: "because"})
			return err
		}
	}
	names := make([]string, 0, len(steps))
	for name := range steps {
		names = append(names, name)
	}
	slices.Sort(names)
	name := rapid.SampledFrom(names).Draw(k.t, "step")
	if err := steps[name](); err != nil && fault.From(err).Code.Entry().Status != 409 {
		k.t.Fatalf("%s: %v", name, err)
	}
}

func (k *walk) any(list []jobs.Job) jobs.Job { return rapid.SampledFrom(list).Draw(k.t, "job") }

func (k *walk) create() error {
	n := jobs.New{Title: "job", Capabilities: []string{k.lane}, MaxRetries: number(1), MaxLost: number(1), RetryBackoffSeconds: number(60)}
	if rapid.Bool().Draw(k.t, "reviewed") {
		reviewed(&n)
	}
	if len(k.list) > 0 && rapid.Bool().Draw(k.t, "dependent") {
		n.DependsOn = []string{k.any(k.list).Key}
	}
	made, err := k.jobs.Create(k.ctx, k.world.owner, jobs.Origin{}, n)
	k.list = append(k.list, made.Jobs...)
	return err
}

func (k *walk) claimSome() error {
	got, err := k.dispatch.Claim(k.ctx, k.agent, dispatch.ClaimRequest{Max: rapid.IntRange(1, 3).Draw(k.t, "max")})
	k.held = append(k.held, got.Jobs...)
	return err
}

func (k *walk) onLease(act func(dispatch.Ref) error) func() error {
	return func() error {
		if len(k.held) == 0 {
			return nil
		}
		return act(ref(k.any(k.held)))
	}
}

func (k *walk) reap() error {
	if len(k.held) == 0 {
		return nil
	}
	k.exec(`UPDATE job_lease SET expires_at = clock_timestamp() - interval '1 second' WHERE job_id = $1`, k.any(k.held).ID)
	_, err := k.dispatch.Reap(k.ctx)
	return err
}

func (k *walk) promote() error {
	k.exec(`UPDATE job SET not_before = clock_timestamp() - interval '1 second'
		WHERE workspace_id = $1 AND status = 'waiting' AND not_before IS NOT NULL`, k.workspace)
	_, err := k.dispatch.Promote(k.ctx)
	return err
}

func (k *walk) exec(sql string, arg any) {
	if _, err := k.owner.Exec(k.ctx, sql, arg); err != nil {
		k.t.Fatal(err)
	}
}

// replay follows the changes of a job's status through its events.
func (k *walk) replay(j jobs.Job) {
	var raw []byte
	err := k.owner.QueryRow(k.ctx, `SELECT coalesce(jsonb_agg(c ORDER BY e.id), '[]')
		FROM event e, jsonb_array_elements(e.changes) c WHERE e.job_id = $1 AND c->>'field' = 'status'`, j.ID).Scan(&raw)
	if err != nil {
		k.t.Fatal(err)
	}
	var changes []struct{ Old, New string }
	if err := json.Unmarshal(raw, &changes); err != nil {
		k.t.Fatal(err)
	}
	status := ""
	for i, c := range changes {
		if c.Old != status || c.New == status {
			k.t.Fatalf("%s: change %d leads from %q to %q, but the job was %q", j.Key, i, c.Old, c.New, status)
		}
		status, k.reached[c.New] = c.New, true
	}
	if now := k.get(j); string(now.Status) != status {
		k.t.Fatalf("%s is %s; its events say %s", j.Key, now.Status, status)
	}
}
