package dispatch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

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

// walk is a few jobs, and the one agent that can do them, to which anything may
// happen next.
type walk struct {
	*testWorkspace
	t       *rapid.T
	owner   *pgx.Conn // of the database
	lane    string    // the capability that only this walk's agent has
	agent   tenancy.Principal
	product string          // allows one job in its repo and one in review
	reached map[string]bool // statuses, and reasons of waiting, that any walk led through
	list    []jobs.Job
	held    []jobs.Job // as they were claimed; some leases have ended since
}

// Whatever happens to jobs, in whatever order: each change of a status has its
// one event, replaying them gives the present status, and leases, attempts and
// ready rows agree with it.
func TestTheLogTellsTheState(t *testing.T) {
	w := newTestWorkspace(t)
	conn := dbtest.Owner(t, w.DB)
	walks, reached := 0, map[string]bool{}
	// Rounds of rapid's hundred walks: more where something rare was not met yet.
	const most = 40
	for round := 0; round == 0 || round < most && len(unreached(reached)) > 0; round++ {
		rapid.Check(t, func(r *rapid.T) {
			walks++
			k := &walk{testWorkspace: w, t: r, owner: conn, lane: fmt.Sprintf("walk:%d", walks), product: fmt.Sprintf("walk-%d", walks), reached: reached}
			k.agent = w.Agent(fmt.Sprintf("claude-%d", walks), func(r *fleet.Registration) {
				r.Capabilities, r.Factory.Repos = []string{k.lane}, []fleet.Repo{{Name: k.product}}
			})
			w.Product(k.product, jobs.ProductSettings{Repos: []string{k.product}, Serialise: jobs.SerialiseRepo, ReviewLimit: number(1)})
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
	w.Consistent()
	for _, what := range unreached(reached) {
		t.Errorf("no walk led through %s", what)
	}
}

// unreached returns the statuses and the reasons of waiting that no walk led through.
func unreached(reached map[string]bool) []string {
	var missing []string
	for _, status := range jobs.Statuses {
		missing = append(missing, string(status))
	}
	for _, reason := range []jobs.WaitReason{jobs.WaitDependency, jobs.WaitRetryBackoff, jobs.WaitRepoBusy, jobs.WaitReviewBacklog} {
		missing = append(missing, string(reason))
	}
	return slices.DeleteFunc(missing, func(what string) bool { return reached[what] })
}

func (k *walk) step() {
	verbs := []jobs.Trigger{jobs.ByPause, jobs.ByResume, jobs.ByBlock, jobs.ByUnblock, jobs.ByCancel, jobs.ByRetry,
		jobs.ByReject, jobs.ByApprove, jobs.ByMerge, jobs.ByArchive, jobs.ByRelease, jobs.ByAnswer, jobs.ByMergeFail}
	steps := map[string]func() error{
		"create": k.create, "create more": k.create, "claim": k.claimSome, "claim more": k.claimSome, "expire and reap": k.reap, "time passes": k.promote,
		"warn and time out": k.timeOut, "link": k.link, "unlink": k.unlink, "fail cycles": k.failCycles,
		"progress": k.onLease(func(r lease.Ref) error {
			_, err := k.Dispatch.Progress(k.Ctx, k.agent, r, report.Progress{Percent: number(50)})
			return err
		}),
		"complete": k.onLease(k.handIn), "complete more": k.onLease(k.handIn),
		"fail": k.onLease(func(r lease.Ref) error {
			_, err := k.Dispatch.Fail(k.Ctx, k.agent, r, report.Failure{Error: "x", Retryable: rapid.Bool().Draw(k.t, "retryable")})
			return err
		}),
		"ask": k.onLease(func(r lease.Ref) error {
			_, err := k.Dispatch.Ask(k.Ctx, k.agent, r, report.Question{Text: "Which?"})
			return err
		}),
		"give back": k.onLease(func(r lease.Ref) error {
			_, err := k.Dispatch.Release(k.Ctx, k.agent, r, report.Release{})
			return err
		}),
	}
	for _, verb := range verbs {
		steps[string(verb)] = func() error {
			_, err := k.Dispatch.Act(k.Ctx, k.Owner, k.any(k.list).Key, actions.Action{Verb: verb, Reason: "because"})
			return err
		}
	}
	names := make([]string, 0, len(steps))
	for name := range steps {
		names = append(names, name)
	}
	slices.Sort(names)
	name := rapid.SampledFrom(names).Draw(k.t, "step")
	if err := steps[name](); err != nil && !fault.From(err).Code.Conflict() {
		k.t.Fatalf("%s: %v", name, err)
	}
	k.onePerRepo()
	k.gatesHold()
}

func (k *walk) any(list []jobs.Job) jobs.Job { return rapid.SampledFrom(list).Draw(k.t, "job") }

func (k *walk) create() error {
	n := jobs.New{Spec: jobs.Spec{Title: "job", Capabilities: []string{k.lane}}, Product: k.product, MaxRetries: number(1),
		MaxLost: number(1), RetryBackoffSeconds: number(60)}
	if rapid.IntRange(0, 3).Draw(k.t, "reviewed") > 0 {
		reviewed(&n)
	}
	if rapid.Bool().Draw(k.t, "in the repo") {
		n.Repo = k.product
	}
	if rapid.Bool().Draw(k.t, "with children") {
		n.WaitsForChildren = true
	}
	n.EstimatedMinutes = number(20)
	if len(k.list) > 0 && rapid.Bool().Draw(k.t, "dependent") {
		n.DependsOn = []string{k.any(k.list).Key}
	}
	made, err := k.Jobs.Create(k.Ctx, k.Owner, nil, n)
	k.list = append(k.list, made.Jobs...)
	for _, j := range made.Jobs {
		k.reached[string(j.WaitReason)] = true
	}
	return err
}

func (k *walk) claimSome() error {
	got, err := k.Dispatch.Claim(k.Ctx, k.agent, claim.Request{Max: rapid.IntRange(1, 3).Draw(k.t, "max")})
	k.held = append(k.held, got.Jobs...)
	return err
}

func (k *walk) handIn(r lease.Ref) error {
	_, err := k.Dispatch.Complete(k.Ctx, k.agent, r, report.Completion{})
	return err
}

func (k *walk) onLease(act func(lease.Ref) error) func() error {
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
	_, err := k.Dispatch.Reap(k.Ctx)
	return err
}

func (k *walk) promote() error {
	k.exec(`UPDATE job SET not_before = clock_timestamp() - interval '1 second'
		WHERE workspace_id = $1 AND status = 'waiting' AND not_before IS NOT NULL`, k.Workspace)
	_, err := k.Dispatch.Promote(k.Ctx)
	return err
}

func (k *walk) timeOut() error {
	if len(k.held) == 0 {
		return nil
	}
	k.exec(`UPDATE job_lease SET claimed_at = claimed_at - interval '1 hour', warned_at = warned_at - interval '1 hour',
		progress_at = progress_at - interval '1 hour' WHERE job_id = $1`, k.any(k.held).ID)
	_, warned := k.Dispatch.Warn(k.Ctx)
	_, err := k.Dispatch.TimeOut(k.Ctx)
	return errors.Join(warned, err)
}

func (k *walk) link() error {
	kind := rapid.SampledFrom([]jobs.LinkType{jobs.Blocks, jobs.Parent, jobs.Duplicates}).Draw(k.t, "type")
	one, other := k.any(k.list), k.any(k.list)
	if one.Key == other.Key {
		return nil
	}
	if kind == jobs.Parent {
		if gate := rapid.SampledFrom([]*bool{nil, number(true), number(true), number(false)}).Draw(k.t, "gate"); gate != nil {
			_, err := k.Jobs.LinkParent(k.Ctx, k.Owner, one.Key, other.Key, *gate)
			return err
		}
	}
	_, err := k.Jobs.Link(k.Ctx, k.Owner, one.Key, other.Key, kind)
	return err
}

func (k *walk) unlink() error {
	_, err := k.Jobs.Unlink(k.Ctx, k.Owner, k.any(k.list).Key, k.any(k.list).Key, "")
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// failCycles finds none: links refuse them.
func (k *walk) failCycles() error {
	n, err := k.Dispatch.FailCycles(k.Ctx)
	if n != 0 {
		k.t.Fatalf("%d jobs were in a cycle", n)
	}
	return err
}

// onePerRepo asserts that of the walk's repo one job at most is under way.
func (k *walk) onePerRepo() {
	var n int
	err := k.owner.QueryRow(k.Ctx, `SELECT count(*) FROM job WHERE repo = $1 AND status IN ('ready', 'assigned', 'running')`, k.product).Scan(&n)
	if err != nil || n > 1 {
		k.t.Fatalf("%d jobs of one repo are under way, %v", n, err)
	}
}

// gatesHold asserts that no job of the walk is ready while a child behind a gate is
// open, and that none waits for children alone that have ended.
func (k *walk) gatesHold() {
	var open, ended int
	err := k.owner.QueryRow(k.Ctx, `SELECT count(*) FILTER (WHERE j.status = 'ready' AND g.open > 0),
			count(*) FILTER (WHERE j.status = 'waiting' AND j.wait_reason = 'dependency' AND g.open = 0 AND g.blocked = 0)
		FROM job j CROSS JOIN LATERAL (SELECT
			count(*) FILTER (WHERE x.type = 'gate' AND c.status NOT IN ('completed', 'failed', 'aborted', 'archived')) AS open,
			count(*) FILTER (WHERE x.type = 'blocks' AND c.status <> 'completed' AND NOT (c.status = 'archived' AND c.completed_at IS NOT NULL)) AS blocked
			FROM job_dependency x JOIN job c ON c.id = x.depends_on_id WHERE x.job_id = j.id) g
		WHERE j.product_id = (SELECT p.id FROM product p WHERE p.name = $1)`, k.product).Scan(&open, &ended)
	if err != nil || open+ended > 0 {
		k.t.Fatalf("%d ready jobs have an open child, %d wait for nothing, %v", open, ended, err)
	}
}

func (k *walk) exec(sql string, arg any) {
	if _, err := k.owner.Exec(k.Ctx, sql, arg); err != nil {
		k.t.Fatal(err)
	}
}

// replay follows the changes of a job's status through its events.
func (k *walk) replay(j jobs.Job) {
	var raw []byte
	err := k.owner.QueryRow(k.Ctx, `SELECT coalesce(jsonb_agg(c ORDER BY e.id), '[]')
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
	if now := k.Get(j); string(now.Status) != status {
		k.t.Fatalf("%s is %s; its events say %s", j.Key, now.Status, status)
	}
	var reasons []string
	err = k.owner.QueryRow(k.Ctx, `SELECT coalesce(array_agg(DISTINCT c->>'new'), '{}')
		FROM event e, jsonb_array_elements(e.changes) c WHERE e.job_id = $1 AND c->>'field' = 'wait_reason'`, j.ID).Scan(&reasons)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, reason := range reasons {
		k.reached[reason] = true
	}
}
