package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// Steps that several tests take.

func claim(t *testing.T, agent *api.ClientWithResponses) string {
	t.Helper()
	answer, err := agent.ClaimJobsWithResponse(t.Context(), api.ClaimRequest{})
	if err != nil || answer.JSON200 == nil {
		t.Fatalf("claim: %v %s", err, body(answer))
	}
	return answer.JSON200.Jobs[0].Key
}

func longPoll(t *testing.T, agent *api.ClientWithResponses) string {
	t.Helper()
	answer, err := agent.ClaimJobsWithResponse(t.Context(), api.ClaimRequest{WaitSeconds: number(40)})
	if err != nil || answer.JSON200 == nil {
		t.Errorf("long poll: %v %s", err, body(answer))
		return ""
	}
	return answer.JSON200.Jobs[0].Key
}

func progress(t *testing.T, agent *api.ClientWithResponses, key string, percent int, step string) {
	t.Helper()
	answer, err := agent.ReportProgressWithResponse(t.Context(), api.ProgressReport{Job: key, Epoch: 1, ProgressPercent: &percent, CurrentStep: &step})
	if err != nil || answer.StatusCode() != http.StatusOK {
		t.Fatalf("progress: %v %s", err, answer.Body)
	}
}

func complete(t *testing.T, agent *api.ClientWithResponses, key string) {
	t.Helper()
	answer, err := agent.CompleteJobWithResponse(t.Context(), api.Completion{Job: key, Epoch: 1})
	if err != nil || answer.StatusCode() != http.StatusOK {
		t.Fatalf("complete: %v %s", err, answer.Body)
	}
}

// spends reports usage of a job's first attempt that cost so many dollars.
func spends(t *testing.T, agent *api.ClientWithResponses, key, id, usd string) {
	t.Helper()
	answer, err := agent.ReportUsageWithResponse(t.Context(), api.UsageReport{Job: &key, Epoch: new(int64(1)), Entries: []api.UsageEntry{{
		ID: id, Provider: "house", Model: "house-1", InputTokens: 12_000, OutputTokens: 900, CostUSD: json.RawMessage(usd), At: time.Now()}}})
	if err != nil || answer.JSON200 == nil || answer.JSON200.Results[0].Status != api.UsageResultStatusRecorded {
		t.Fatalf("tell usage: %v %s", err, body(answer))
	}
}

// budget makes a hard budget of so many dollars a month for all jobs.
func budget(t *testing.T, s *server, name, usd string) {
	t.Helper()
	answer, err := s.owner().CreateBudgetWithResponse(t.Context(), api.NewBudget{Name: name, Scope: api.BudgetScopeWorkspace,
		Period: api.BudgetPeriodMonth, LimitUSD: &usd})
	if err != nil || answer.StatusCode() != http.StatusCreated {
		t.Fatalf("make a budget: %v %s", err, answer.Body)
	}
}

// submitCommand creates a job whose agent runs a command.
func submitCommand(t *testing.T, s *server, title, command string) {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.owner().CreateJobWithResponse(t.Context(), nil, api.NewJob{Title: title, Repo: number("ledger-api"), InputContext: input})
	if err != nil || answer.StatusCode() != http.StatusCreated {
		t.Fatalf("submit: %v %s", err, answer.Body)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func selectOption(v *visitor, selector, value string) error {
	_, err := v.tab.Locator(selector).SelectOption(playwright.SelectOptionValues{Values: playwright.StringSlice(value)})
	return err
}

// mark leaves something in the page that a reload would lose.
func mark(v *visitor) error {
	_, err := v.tab.Evaluate("() => { window.markedByTheTest = true }")
	return err
}

func marked(v *visitor) bool {
	got, err := v.tab.Evaluate("() => window.markedByTheTest === true")
	v.must("look for the mark", err)
	return got == true
}

// depend creates a job that waits for another.
func depend(t *testing.T, s *server, title, on string) {
	t.Helper()
	answer, err := s.owner().CreateJobWithResponse(t.Context(), nil, api.NewJob{Title: title, DependsOn: &[]string{on}})
	if err != nil || answer.StatusCode() != http.StatusCreated {
		t.Fatalf("submit: %v %s", err, answer.Body)
	}
}

// stuck creates a job that needs a capability nobody offers.
func stuck(t *testing.T, s *server, title, capability string) {
	t.Helper()
	answer, err := s.owner().CreateJobWithResponse(t.Context(), nil, api.NewJob{Title: title, Capabilities: &[]string{capability}})
	if err != nil || answer.StatusCode() != http.StatusCreated {
		t.Fatalf("submit: %v %s", err, answer.Body)
	}
}

func freshDatabase(t *testing.T) string {
	t.Helper()
	return dbtest.URL(t)
}

// openDir returns a directory that another account may pass through: as root the
// embedded PostgreSQL runs as one.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fleetboard-data-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}
