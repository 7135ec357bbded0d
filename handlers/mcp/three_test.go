package mcp_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/cli"
)

// What is refused is refused by the call, the command and the tool with one code, one sentence and
// the same fields.
func TestOneRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.agent("ada")
	w.call(w.owner, "POST", "/jobs", object{"title": "Mend", "key": "FB-1"})
	w.call(w.owner, "POST", "/jobs", object{"title": "Paint", "key": "FB-2"})
	fleet := w.terminal()
	fleet(w.owner, "job", "claim", "FB-1") // what an agent reports is reported of it
	long := strings.Repeat("x", 201)
	for _, c := range []struct {
		token, method, path, body string
		command                   []string
		tool, args                string
	}{
		{w.owner, "GET", "/jobs/FB-404", "", []string{"job", "show", "FB-404"}, "get_job", `{"job":"FB-404"}`},
		{w.owner, "GET", "/jobs/FB-404/explanation", "", []string{"job", "explain", "FB-404"}, "explain_job", `{"job":"FB-404"}`},
		{w.owner, "GET", "/jobs?limit=201", "", []string{"job", "list", "--limit", "201"}, "list_jobs", `{"limit":201}`},
		{w.owner, "GET", "/jobs?limit=50&sort=size", "", []string{"job", "list", "--sort", "size"}, "list_jobs", `{"limit":50,"sort":"size"}`},
		{w.owner, "GET", "/jobs?limit=50&priority_gte=11", "", []string{"job", "list", "--priority", "11"}, "list_jobs", `{"priority_gte":11}`},
		{w.owner, "GET", "/factories?limit=0", "", []string{"factory", "list", "--limit", "0"}, "list_factories", `{"limit":0}`},
		{w.owner, "POST", "/jobs", `{"title":"` + long + `"}`, []string{"job", "create", long}, "submit_job", `{"title":"` + long + `"}`},
		{w.owner, "POST", "/jobs", `{"title":"a","priority":11,"tier":"huge"}`, []string{"job", "create", "a", "--priority", "11", "--tier", "huge"},
			"submit_job", `{"title":"a","priority":11,"tier":"huge"}`},
		{w.owner, "POST", "/jobs", `{"title":"a","product":"nowhere"}`, []string{"job", "create", "a", "--product", "nowhere"},
			"submit_job", `{"title":"a","product":"nowhere"}`},
		{w.owner, "POST", "/jobs", `{"title":"a","depends_on":["FB-404"]}`, []string{"job", "create", "a", "--depends-on", "FB-404"},
			"submit_job", `{"title":"a","depends_on":["FB-404"]}`},
		{w.owner, "POST", "/jobs/FB-2/approve", `{"version":1}`, []string{"job", "approve", "FB-2", "--if-version", "1"},
			"review_job", `{"job":"FB-2","decision":"approve","version":1}`},
		{w.owner, "POST", "/jobs/FB-2/approve", `{"version":77}`, []string{"job", "approve", "FB-2", "--if-version", "77"},
			"review_job", `{"job":"FB-2","decision":"approve","version":77}`},
		{w.owner, "POST", "/jobs/FB-2/reject", `{"version":1,"reason":"No."}`, []string{"job", "reject", "FB-2", "--if-version", "1", "-m", "No."},
			"review_job", `{"job":"FB-2","decision":"reject","version":1,"reason":"No."}`},
		{w.owner, "POST", "/jobs/FB-2/answer", `{"version":1,"answer":"Yes."}`, []string{"job", "answer", "FB-2", "Yes.", "--if-version", "1"},
			"answer_question", `{"job":"FB-2","version":1,"answer":"Yes."}`},
		{w.owner, "POST", "/stop", `{"reason":"x","hold":"everything","products":[]}`, []string{"stop", "-m", "x", "--hold", "everything"},
			"stop_fleet", `{"reason":"x","hold":"everything"}`},
		{w.owner, "POST", "/stop", `{"reason":"x","hold":"all","products":["nowhere"]}`, []string{"stop", "nowhere", "-m", "x", "--hold", "all"},
			"stop_fleet", `{"reason":"x","hold":"all","products":["nowhere"]}`},
		{agent, "POST", "/fleet/claim", `{"wait_seconds":51,"ttl_seconds":9}`, []string{"job", "claim", "--wait", "51", "--ttl", "9"},
			"claim_next_job", `{"wait_seconds":51,"ttl_seconds":9}`},
		{agent, "POST", "/fleet/progress", `{"job":"FB-1","epoch":1,"progress_percent":101}`, []string{"job", "progress", "FB-1", "--percent", "101"},
			"report_progress", `{"job":"FB-1","epoch":1,"progress_percent":101}`},
		{agent, "POST", "/fleet/complete", `{"job":"FB-1","epoch":1,"commit":"` + long + `"}`, []string{"job", "complete", "FB-1", "--commit", long},
			"complete_job", `{"job":"FB-1","epoch":1,"commit":"` + long + `"}`},
		{agent, "POST", "/fleet/fail", `{"job":"FB-1","epoch":1,"error":"x","kind":"sleepy"}`, []string{"job", "fail", "FB-1", "-m", "x", "--kind", "sleepy"},
			"fail_job", `{"job":"FB-1","epoch":1,"error":"x","kind":"sleepy"}`},
		{agent, "POST", "/fleet/fail", `{"job":"FB-1","epoch":1,"error":"x","retry_after_seconds":0}`, []string{"job", "fail", "FB-1", "-m", "x", "--retry-after", "0"},
			"fail_job", `{"job":"FB-1","epoch":1,"error":"x","retry_after_seconds":0}`},
		{agent, "POST", "/messages", `{"type":"review_result","to":{"agent":"ada"},"payload":{"text":"hi"}}`, []string{"msg", "send", "hi", "--to", "agent:ada", "--type", "review_result"},
			"send_message", `{"type":"review_result","to":{"agent":"ada"},"payload":{"text":"hi"}}`},
		{agent, "GET", "/messages?limit=101&peek=true", "", []string{"msg", "inbox", "--limit", "101"}, "read_messages", `{"limit":101,"peek":true}`},
	} {
		want := w.send(c.method, "/api/v1"+c.path, c.token, c.body, "Accept", "application/json")
		tool, _ := w.program(c.token).try(t.Context(), c.tool, json.RawMessage(c.args))
		for who, got := range map[string]string{"fleet " + strings.Join(c.command, " "): fleet(c.token, c.command...), c.tool + " " + c.args: tool} {
			if a, b := problemOf(t, got), problemOf(t, want.body); a != b {
				t.Errorf("%s says\n%s\n%s %s\n%s", who, a, c.method, c.path, b)
			}
		}
	}
}

// problemOf returns what a refusal says, without the name of its request.
func problemOf(t *testing.T, text string) string {
	t.Helper()
	problem := decode(t, text)
	if problem["code"] == nil {
		t.Errorf("no refusal: %s", text)
	}
	delete(problem, "request_id")
	delete(problem, "current")
	return encode(t, problem)
}

// terminal returns what runs commands of fleet and returns what they complain about.
func (w *world) terminal() func(token string, args ...string) string {
	w.t.Helper()
	state, settings := w.t.TempDir(), w.t.TempDir()
	return func(token string, args ...string) string {
		var out, complaints bytes.Buffer
		env := map[string]string{"FLEETBOARD_URL": w.url, "FLEETBOARD_TOKEN": token, "FLEETBOARD_ENROLMENT_TOKEN": w.enrolment, "USER": "mara"}
		cli.Run(w.t.Context(), append(args, "--json"), cli.Env{In: strings.NewReader(""), Out: &out, Err: &complaints,
			Getenv: func(name string) string { return env[name] }, ConfigDir: settings, StateDir: state, Now: time.Now})
		return complaints.String()
	}
}
