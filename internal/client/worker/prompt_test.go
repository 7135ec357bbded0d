package worker

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

func TestThePromptSaysWhatIsToBeDoneAndNoSecret(t *testing.T) {
	j := api.Job{
		Key:        "FB-7",
		Title:      "Mend the login",
		Body:       "It fails with a comma.",
		Acceptance: []string{"a test shows it"},
		SecretKeys: []string{
			"token",
		},
		Feedback:     "The test is missing.",
		Question:     "Which comma?",
		Answer:       "The first.",
		LastError:    "make: *** [test]",
		InputContext: json.RawMessage(`{"branch": "main", "token": "hunter22", "script": {"steps": []}}`),
		Checkpoint:   json.RawMessage(`{"fleet_worker": {"factory": "desk", "session": "s1", "agent": {"done": ["login.go"]}}}`),
	}
	first, again := prompt(j, false, true), prompt(j, true, true)
	for _, part := range []string{"FB-7", "Mend the login", "It fails with a comma.", "- a test shows it", `"branch": "main"`, "ask_person",
		"The test is missing.", "Which comma?", "The first.", "make: *** [test]", "login.go"} {
		if !strings.Contains(first, part) {
			t.Errorf("the prompt lacks %q:\n%s", part, first)
		}
	}
	for _, p := range []string{first, again} {
		if strings.Contains(p, "hunter22") || strings.Contains(p, "steps") {
			t.Errorf("the prompt has what is not for it:\n%s", p)
		}
	}
	if strings.Contains(again, "It fails with a comma.") || !strings.Contains(again, "The first.") {
		t.Errorf("a session that goes on is told:\n%s", again)
	}
}

func TestWhatAnAttemptLeaves(t *testing.T) {
	for raw, want := range map[string]remains{
		``:            {},
		`null`:        {},
		`{"page": 3}`: {Agent: json.RawMessage(`{"page": 3}`)}, // of another program than ours
		`{"fleet_worker": {"engine": "claude", "session": "s1", "factory": "desk", "branch": "fleet/FB-1-e1", "commit": "abc"}}`: {
			Engine: "claude", Session: "s1", Factory: "desk", Branch: "fleet/FB-1-e1", Commit: "abc"},
	} {
		got := leftBehind(json.RawMessage(raw))
		if string(got.Agent) != string(want.Agent) || got.Session != want.Session || got.Commit != want.Commit ||
			got.Engine != want.Engine ||
			got.Factory != want.Factory {
			t.Errorf("%s is read as %+v", raw, got)
		}
	}
}

func TestTheEnvironmentIsWhatIsAllowed(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "no")
	t.Setenv("FLEETBOARD_ENROLMENT_TOKEN", "no")
	t.Setenv("GIT_DIR", "no")
	t.Setenv("ANTHROPIC_API_KEY", "yes")
	t.Setenv("JAVA_HOME", "yes")
	env := strings.Join(environment([]string{"JAVA_HOME"}, "FLEETBOARD_JOB=FB-1"), "\n") + "\n"
	for _, v := range []string{"ANTHROPIC_API_KEY=yes\n", "JAVA_HOME=yes\n", "FLEETBOARD_JOB=FB-1\n", "PATH="} {
		if !strings.Contains(env, v) {
			t.Errorf("it lacks %q", v)
		}
	}
	if strings.Contains(env, "=no\n") {
		t.Errorf("it has what is not allowed:\n%s", env)
	}
}

func TestSecretsAreVariablesAndLeaveNoText(t *testing.T) {
	env, secret := readSecrets(api.Job{SecretKeys: []string{"api_key", "odd-name", "pin"},
		InputContext: json.RawMessage(`{"api_key": "hunter22", "odd-name": "swordfish", "pin": 123456, "open": "yes"}`)})
	if got := strings.Join(env, " "); got != "FLEETBOARD_SECRET_API_KEY=hunter22 FLEETBOARD_SECRET_PIN=123456" {
		t.Errorf("the variables are %s", got)
	}
	if got := secret.Text("hunter22 swordfish 123456 yes"); got != "[secret] [secret] [secret] yes" {
		t.Errorf("the text is %s", got)
	}
}

func TestWhatAnAttemptMayCost(t *testing.T) {
	usd := func(s string) *string { return &s }
	for _, c := range []struct {
		name string
		job  api.Job
		want string
	}{
		{"no limit", api.Job{}, ""},
		{"what is left of its own", api.Job{BudgetUSD: usd("5"), SpentUSD: usd("1.25")}, "3.750000"},
		{"the tighter one", api.Job{BudgetUSD: usd("5"), Budget: &api.ClaimedBudget{SliceUSD: "0.5", RemainingUSD: "1"}}, "1.500000"},
		{"nothing is left: the server pauses it", api.Job{BudgetUSD: usd("1"), SpentUSD: usd("2")}, ""},
	} {
		if got := mayCost(c.job); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
