package factory

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// orchestrator runs examples/orchestrator.sh for one plan.
func (s *serverAndRepos) orchestrator() *processtest.Process {
	s.t.Helper()
	script, err := filepath.Abs("../../examples/orchestrator.sh")
	if err != nil {
		s.t.Fatal(err)
	}
	p := s.program("bash", script)
	p.Env = append(p.Env, "AGENT_NAME=conductor", "ORCHESTRATOR_ONCE=1")
	p.Start()
	return p
}

// A plan is split by the orchestrator that people can download, its parts are done by a
// worker, one of them asks and is answered, and the results are joined, with nobody there.
func TestAnOrchestratorSplitsAnswersAndJoins(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	part := func(title string, steps ...step) step {
		return step{"title": title, "repo": "ledger", "input_context": raw(t, steps...)}
	}
	input, err := json.Marshal(step{"answer": "PostgreSQL.", "parts": []step{
		part("Write the schema", step{"run": "echo schema > schema.txt"}),
		part("Write the store", step{"ask": "Which database?"}, step{"run": "echo store > store.txt"}),
		part("Write the page", step{"run": "echo page > page.txt"}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.person.CreateJobWithResponse(t.Context(), nil, api.NewJob{Title: "Keep a ledger", Kind: new("plan"),
		Capabilities: &api.CapabilityList{"plans"}, InputContext: input})
	if err != nil {
		t.Fatal(err)
	}
	plan := answer.JSON201.Key
	s.worker("desk", "--seats", "2")
	conductor := s.orchestrator()
	conductor.AwaitEnd(patience)
	j := s.job(plan)
	if j.Status != api.JobStatusCompleted || !strings.HasPrefix(string(j.Result), "{") {
		t.Fatalf("it is %s: %s", j.Status, j.LastError)
	}
	var result struct {
		Parts []struct{ Title, Status string }
	}
	if err := json.Unmarshal(j.Result, &result); err != nil || len(result.Parts) != 3 {
		t.Errorf("joined is %s, %v", j.Result, err)
	}
	for _, p := range result.Parts {
		if p.Status != "completed" {
			t.Errorf("%s is %s", p.Title, p.Status)
		}
	}
	if n := s.query("SELECT count(*) FROM event WHERE type = 'job.answered' AND actor_kind = 'agent' AND actor = 'conductor'"); n != 1 {
		t.Errorf("the conductor answered %d times", n)
	}
	if n := s.query("SELECT count(*) FROM job_dependency WHERE type = 'discovered_from'"); n != 3 {
		t.Errorf("%d parts are linked to the plan", n)
	}
	if n := s.query("SELECT count(*) FROM message_delivery d JOIN message m USING (workspace_id, seq) JOIN job j ON j.id = m.job_id WHERE j.kind <> 'plan'"); n != 0 {
		t.Errorf("%d messages about parts were not acknowledged", n)
	}
}
