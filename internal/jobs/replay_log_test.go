package jobs_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// replayed asserts that the stored events of a job say what is stored of it.
func (b *bundle) replayed(j jobs.Job) {
	b.t.Helper()
	events, err := eventlog.New(b.db, nil).OfJob(b.t.Context(), b.who, j.ID, 0, 200)
	if err != nil {
		b.t.Fatal(err)
	}
	slices.Reverse(events)
	told, err := jobs.Replay(events)
	if err != nil {
		b.t.Fatalf("%s: %v", j.Key, err)
	}
	if diff := b.get(j).State().Diff(told); len(diff) > 0 {
		b.t.Errorf("%s and its events differ:\n%s", j.Key, strings.Join(diff, "\n"))
	}
}

func TestTheStoredEventsTellWhatIsStored(t *testing.T) {
	b := setup(t).serial()
	later := time.Now().Add(time.Hour)
	full := b.create(jobs.New{Spec: jobs.Spec{Title: "full <of> \u2028 things", Body: "text", Repo: "web", Phase: "M1",
		Capabilities: []string{"os:linux", "has:git"}, Factory: "mac-1", Tags: []string{"b", "a"}, Acceptance: []string{"x"},
		EstimatedComplexity: "L", EstimatedMinutes: number(30), BudgetNanos: number(int64(7)),
		Complexity: number(2), Tier: jobs.TierLarge, ReviewOverride: number(true), NotBefore: &later, WaitsForChildren: true,
	}, Kind: "fix", Priority: number(0)})[0]
	bare := b.create(jobs.New{Spec: jobs.Spec{Title: "bare", Repo: "web"}})[0]
	held := b.create(jobs.New{Spec: jobs.Spec{Title: "held", Repo: "web"}})[0]
	b.create(jobs.New{Spec: jobs.Spec{Title: "urgent", Repo: "web"}, Priority: number(9)})
	empty := []string{}
	edited, err := b.Patch(t.Context(), b.who, full.Key, jobs.Patch{Version: 1, Spec: jobs.Spec{Tags: empty, Capabilities: empty,
		NotBefore: number(time.Now().Add(-time.Hour)), Factory: "", Priority: 10,
		MaxRetries: 9, ReviewOverride: number(true),
	}, Set: []string{"tags", "capabilities", "not_before", "factory", "priority", "max_retries", "review_required"}})
	if err != nil {
		t.Fatal(err)
	}
	if edited.Status != jobs.Ready || edited.MaxRetries != 9 || !edited.ReviewRequired {
		t.Errorf("edited: %s %q, %d retries, review %v", edited.Status, edited.WaitReason, edited.MaxRetries, edited.ReviewRequired)
	}
	b.link(edited, bare, jobs.Blocks)
	b.decide(full, func(l jobs.Locked) (jobs.Decision, error) { return l.Block("later") })
	b.decide(full, func(l jobs.Locked) (jobs.Decision, error) { return l.Unblock(true) })
	b.pause(bare)
	b.promote(held.ID)
	for _, j := range []jobs.Job{full, bare, held} {
		b.replayed(j)
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM event e, jsonb_array_elements(e.changes) c WHERE e.job_id = $1
		AND e.type = 'job.created' AND c->>'field' IN ('title', 'repo', 'phase', 'capabilities', 'factory', 'tags', 'acceptance',
			'estimated_complexity', 'estimated_minutes', 'review_required', 'not_before', 'waits_for_children', 'wait_reason', 'product')
		AND c->'old' = 'null'`, full.ID); n != 14 {
		t.Errorf("the first event tells %d of 14 fields", n)
	}
}
