package attempts_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestAttemptsArePagedWithAllThatIsKept(t *testing.T) {
	b := setup(t)
	j := b.NewJobs(jobs.New{Spec: jobs.Spec{Title: "a"}})[0]
	dbfactory.Exec(t, b.DB, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, ended_at, outcome, error, error_kind)
		SELECT $1, $2, n, 'claude-' || n, 'mac-1', now(), 'failed', 'it broke', 'TestFailure' FROM generate_series(1, 5) n`, b.Who.Workspace, j.ID)
	dbfactory.Exec(t, b.DB, `INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, epoch, payload)
		VALUES ($1, 'job.attempt_failed', $2, 'claude-4', 'agent', 4, '{"stack": "at main.go:7"}')`, b.Who.Workspace, j.ID)
	for epoch, lines := range map[int]int{4: 3, 5: 1001} {
		dbfactory.Exec(t, b.DB, `INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, message)
			SELECT $1, $2, $3, 'claude-1', 'INFO', n::text FROM generate_series(1, $4::int) n`, b.Who.Workspace, j.ID, epoch, lines)
	}
	job, list, more, err := b.AttemptPage(t.Context(), b.Who, "FB-1", 0, 3)
	if err != nil || job.ID != j.ID || !more || len(list) != 3 {
		t.Fatalf("%d attempts on %s, more %v, %v", len(list), job.Key, more, err)
	}
	if list[0].Epoch != 5 || list[0].Lines != 1000 || !list[0].Capped || list[0].Stack != "" {
		t.Errorf("the newest is %+v", list[0])
	}
	if list[1].Agent != "claude-4" || list[1].Lines != 3 || list[1].Capped || list[1].Stack != "at main.go:7" || list[1].Error != "it broke" {
		t.Errorf("the one before is %+v", list[1])
	}
	_, list, more, err = b.AttemptPage(t.Context(), b.Who, "FB-1", list[2].Epoch, 3)
	if err != nil || more || len(list) != 2 || list[1].Epoch != 1 {
		t.Errorf("the older ones: %d, more %v, %v", len(list), more, err)
	}
}

func TestAttemptsAreNotSeenFromAnotherWorkspace(t *testing.T) {
	b := setup(t)
	j := b.NewJobs(jobs.New{Spec: jobs.Spec{Title: "a"}})[0]
	stranger := dbfactory.Person(dbfactory.Workspace(t, b.DB), tenancy.RoleOwner)
	if _, _, _, err := b.AttemptPage(t.Context(), stranger, j.ID.String(), 0, 10); !fault.Is(err, fault.NotFound) {
		t.Errorf("a stranger reads the attempts: %v", err)
	}
}
