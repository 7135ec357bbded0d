package mcp_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var (
	workerTools = []string{"ask_person", "claim_next_job", "complete_job", "fail_job", "get_job", "read_messages", "report_progress",
		"save_checkpoint", "send_message"}
	personTools = []string{"answer_question", "explain_job", "get_budget", "get_job", "list_factories", "list_jobs", "review_job",
		"stop_fleet", "submit_job"}
)

// mostTokens is how long a list of tools may be. A token of JSON in English has more than three
// bytes, so that a third of the bytes is no less than there are.
const mostTokens = 6000

// A person and an agent each see their own tools, of a person those of the role, and their list
// leaves room for work.
func TestToolsAreThoseOfTheToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	member, viewer := w.member(tenancy.RoleMember), w.member(tenancy.RoleViewer)
	for name, c := range map[string]struct {
		token string
		want  []string
	}{
		"an agent": {w.agent("ada"), workerTools},
		"an owner": {w.owner, personTools},
		"a member": {member, slices.DeleteFunc(slices.Clone(personTools), func(n string) bool { return n == "stop_fleet" })},
		"a viewer": {viewer, []string{"explain_job", "get_budget", "get_job", "list_factories", "list_jobs"}},
	} {
		p := w.program(c.token)
		names, length := p.names()
		slices.Sort(names)
		if !slices.Equal(names, c.want) {
			t.Errorf("%s has %q, want %q", name, names, c.want)
		}
		t.Logf("%s: %d tools, %d bytes, at most %d tokens", name, len(names), length, length/3)
		if length/3 > mostTokens {
			t.Errorf("%s: the list of tools may have %d tokens, want at most %d", name, length/3, mostTokens)
		}
		for _, other := range slices.Concat(workerTools, personTools) {
			if slices.Contains(names, other) {
				continue
			}
			if text, refused := p.attempt(other); !refused {
				t.Errorf("%s may call %s: %s", name, other, text)
			}
		}
	}
}

// attempt calls a tool that is not offered; a protocol error is a refusal too.
func (p *program) attempt(tool string) (string, bool) {
	r, err := p.session.CallTool(p.t.Context(), &protocol.CallToolParams{Name: tool})
	return "", err != nil || r.IsError
}

// member makes a member with a role and returns a token of his.
func (w *world) member(role tenancy.Role) string {
	w.t.Helper()
	who := tenancy.Principal{Kind: tenancy.KindPerson, Workspace: w.principal(w.owner).Workspace, Role: role, Name: string(role)}
	who.Account = dbfactory.NewMember(w.t, w.db, who.Workspace, role)
	token, err := w.services.Accounts.Tokens.Issue(w.t.Context(), who, tokens.NewToken{Kind: tenancy.KindPerson, Name: string(role)})
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// A job goes from claim to completion, with all that an agent does on the way.
func TestAnAgentWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	person, agent := w.program(w.owner), w.program(w.agent("ada"))
	if got := agent.do("claim_next_job", object{"wait_seconds": 0}); got["reason"] != "empty" || len(got["jobs"].([]any)) != 0 {
		t.Fatalf("an empty board gives %v", got)
	}
	made := person.do("submit_job", object{"title": "Mend the gate", "repo": "atlas", "idempotency_key": "once"})
	if again := person.do("submit_job", object{"title": "Mend the gate", "repo": "atlas", "idempotency_key": "once"}); again["key"] != made["key"] {
		t.Errorf("sent again it is %v, want %v", again["key"], made["key"])
	}
	claimed := agent.do("claim_next_job", object{"wait_seconds": 50, "ttl_seconds": 600})["jobs"].([]any)[0].(object)
	if claimed["key"] != made["key"] {
		t.Fatalf("claimed %v", claimed["key"])
	}
	ref := func(more object) object {
		o := object{"job": claimed["key"], "epoch": claimed["lease"].(object)["epoch"]}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	if got := agent.do("report_progress", ref(object{"progress_percent": 20, "current_step": "looks"})); got["directive"] != "continue" {
		t.Errorf("the directive is %v", got["directive"])
	}
	// Numbers lose no digit on their way.
	agent.do("save_checkpoint", ref(object{"checkpoint": json.RawMessage(`{"at":12345678901234567890.125}`)}))
	agent.do("send_message", object{"type": "custom.note", "to": object{"agent": "ada"}, "job": claimed["key"], "payload": object{"text": "Hello."}})
	if got := agent.do("read_messages", object{"limit": 5, "types": []string{"custom.note"}}); got["items"] == nil {
		t.Errorf("the inbox is %v", got)
	}
	if got := person.do("get_job", object{"job": made["key"]}); got["current_step"] != "looks" ||
		got["checkpoint"].(object)["at"] != json.Number("12345678901234567890.125") {
		t.Errorf("the job is %v", got)
	}
	agent.do("ask_person", ref(object{"question": "Oak or pine?"}))
	asked := person.do("get_job", object{"job": made["key"]})
	person.refused("version_conflict", "answer_question", object{"job": made["key"], "answer": "Oak", "version": 1})
	person.do("answer_question", object{"job": made["key"], "answer": "Oak.", "version": asked["version"]})
	claimed = agent.do("claim_next_job", object{})["jobs"].([]any)[0].(object)
	if claimed["answer"] != "Oak." {
		t.Errorf("the answer is %v", claimed["answer"])
	}
	done := agent.do("complete_job", ref(object{"summary": "Mended.", "result": object{"planks": 3}, "commit": "abc123"}))
	if done["status"] != "completed" && done["status"] != "in_review" {
		t.Errorf("it is %v", done["status"])
	}
	agent.refused("already_ended", "complete_job", ref(object{"summary": "Otherwise."}))
	agent.refused("already_ended", "fail_job", object{"job": claimed["key"], "epoch": 1, "error": "No."})
	agent.refused("stale_epoch", "fail_job", object{"job": claimed["key"], "epoch": 9, "error": "No."})
}

// What is reviewed is what was read, and what is answered too.
func TestAReviewIsOfWhatWasRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	person, agent := w.program(w.owner), w.program(w.agent("ada"))
	hand := func() (key any, version any) {
		made := person.do("submit_job", object{"title": "Paint", "review_required": true})
		claimed := agent.do("claim_next_job", object{"job": made["key"]})["jobs"].([]any)[0].(object)
		agent.do("complete_job", object{"job": made["key"], "epoch": claimed["lease"].(object)["epoch"], "commit": "abc123"})
		return made["key"], person.do("get_job", object{"job": made["key"]})["version"]
	}
	job, version := hand()
	if fields := person.refused("validation_failed", "review_job", object{"job": job, "decision": "approve"})["fields"].(object); fields["version"] != "It must be given." {
		t.Errorf("the fields are %v", fields)
	}
	person.refused("version_conflict", "review_job", object{"job": job, "decision": "approve", "version": 1})
	person.refused("malformed", "review_job", object{"job": job, "decision": "reject", "version": version, "head": "abc123", "reason": "No."})
	if fields := person.refused("validation_failed", "review_job", object{"job": job, "decision": "maybe", "version": version})["fields"].(object); fields["decision"] == nil {
		t.Errorf("the fields are %v", fields)
	}
	if got := person.do("get_job", object{"job": job}); got["status"] != "in_review" || got["version"] != version {
		t.Errorf("a refused decision changed it: %v, version %v", got["status"], got["version"])
	}
	if got := person.do("review_job", object{"job": job, "decision": "approve", "version": version, "head": "abc123"}); got["approved_head"] != "abc123" {
		t.Errorf("approved is %v", got["approved_head"])
	}
	other, version := hand()
	if got := person.do("review_job", object{"job": other, "decision": "reject", "version": version, "reason": "Too thin."}); got["status"] != "ready" {
		t.Errorf("rejected it is %v", got["status"])
	}
}

// A refusal of a tool is the refusal of its call: code, sentence and fields.
func TestRefusalsAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.agent("ada")
	person, agent := w.program(w.owner), w.program(token)
	for _, c := range []struct {
		p                  *program
		token, tool        string
		args               string
		method, path, body string
	}{
		{agent, token, "claim_next_job", `{"wait_seconds":51}`, "POST", "/fleet/claim", `{"wait_seconds":51}`},
		{agent, token, "claim_next_job", `{"wait_seconds":"now"}`, "POST", "/fleet/claim", `{"wait_seconds":"now"}`},
		{agent, token, "claim_next_job", `{"tll_seconds":5}`, "POST", "/fleet/claim", `{"tll_seconds":5}`},
		{agent, token, "report_progress", `{"job":"FB-1","epoch":1,"progress_percent":101}`, "POST", "/fleet/progress", `{"job":"FB-1","epoch":1,"progress_percent":101}`},
		{agent, token, "report_progress", `{"job":"FB-1","epoch":1}`, "POST", "/fleet/progress", `{"job":"FB-1","epoch":1}`},
		{agent, token, "complete_job", `{}`, "POST", "/fleet/complete", `{}`},
		{agent, token, "send_message", `{"type":"review_result","to":{"all":true}}`, "POST", "/messages", `{"type":"review_result","to":{"all":true}}`},
		{agent, token, "read_messages", `{"limit":101,"colour":"red"}`, "GET", "/messages?limit=101&colour=red", ""},
		{person, w.owner, "get_job", `{"job":"FB-404"}`, "GET", "/jobs/FB-404", ""},
		{person, w.owner, "get_job", `{"job":"../stop"}`, "GET", "/jobs/..%2Fstop", ""},
		{person, w.owner, "get_job", `{"job":"a\u0000b"}`, "GET", "/jobs/a%00b", ""},
		{person, w.owner, "list_jobs", `{"status":["done"]}`, "GET", "/jobs?status=done", ""},
		{person, w.owner, "list_jobs", `{"limit":201,"cursor":"x"}`, "GET", "/jobs?limit=201&cursor=x", ""},
		{person, w.owner, "submit_job", `{"title":""}`, "POST", "/jobs", `{"title":""}`},
		{person, w.owner, "submit_job", `{"title":"a","title":"b"}`, "POST", "/jobs", `{"title":"a","title":"b"}`},
		{person, w.owner, "submit_job", `{"title":"a","product":"nowhere"}`, "POST", "/jobs", `{"title":"a","product":"nowhere"}`},
		{person, w.owner, "get_budget", `{"budget":"none"}`, "GET", "/budgets/none", ""},
		{person, w.owner, "stop_fleet", `{"reason":"x","hold":"everything"}`, "POST", "/stop", `{"reason":"x","hold":"everything"}`},
	} {
		text, refused := c.p.try(t.Context(), c.tool, json.RawMessage(c.args))
		want := w.send(c.method, "/api/v1"+c.path, c.token, c.body, "Accept", "application/json")
		got, meant := decode(t, text), decode(t, want.body)
		delete(got, "request_id")
		delete(meant, "request_id")
		a, b := encode(t, got), encode(t, meant)
		if !refused || a != b {
			t.Errorf("%s %s is refused (%v) with\n%s, the call with\n%s", c.tool, c.args, refused, a, b)
		}
	}
	if problem := person.refused("validation_failed", "get_job", object{}); problem["fields"].(object)["job"] != "It must be given." {
		t.Errorf("the fields are %v", problem["fields"])
	}
	for _, args := range []string{`{"job":7}`, `{"job":"FB-1","job":"FB-2"}`, `{"job":null}`} {
		if text, refused := person.try(t.Context(), "get_job", json.RawMessage(args)); !refused || !strings.Contains(text, `"job"`) {
			t.Errorf("get_job %s: %s", args, text)
		}
	}
}

func encode(t *testing.T, o object) string {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A person's list is short unless fields are named, and a stop is one.
func TestAPersonLooksAndStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program(w.owner)
	key := p.do("submit_job", object{"title": "Mend", "body": strings.Repeat("long ", 1000)})["key"]
	list := p.do("list_jobs", object{"status": []string{"ready", "waiting"}, "q": "Mend"})["items"].([]any)[0].(object)
	if list["title"] != "Mend" || list["body"] != nil {
		t.Errorf("the list has %v", list)
	}
	if named := p.do("list_jobs", object{"fields": []string{"body", "title"}})["items"].([]any)[0].(object); named["body"] == nil || named["status"] != nil {
		t.Errorf("with fields named it has %v", named)
	}
	if why := p.do("explain_job", object{"job": key}); why["reasons"] == nil {
		t.Errorf("the explanation is %v", why)
	}
	if got := p.do("list_factories", object{"limit": 1}); got["items"] == nil {
		t.Errorf("the factories are %v", got)
	}
	if got := p.do("get_budget", object{}); got["items"] == nil {
		t.Errorf("the budgets are %v", got)
	}
	p.do("stop_fleet", object{"reason": "Smoke.", "hold": "all"})
	if got := w.program(w.agent("ada")).do("claim_next_job", object{}); got["reason"] != "stopped" {
		t.Errorf("a stopped fleet gives %v", got)
	}
	use, ok, err := w.services.Accounts.Tokens.LastTools(t.Context(), w.principal(w.owner))
	if err != nil || !ok || use.Program != "test-program/7.1" || use.At.IsZero() {
		t.Errorf("the last call was %+v, %v, %v", use, ok, err)
	}
}

func (w *world) principal(token string) tenancy.Principal {
	w.t.Helper()
	who, err := w.services.Accounts.Tokens.Bearer(w.t.Context(), token)
	if err != nil {
		w.t.Fatal(err)
	}
	return who
}

// A claim that nobody waits for any more takes no job.
func TestAClaimEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.program(w.agent("ada"))
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := agent.session.CallTool(ctx, &protocol.CallToolParams{Name: "claim_next_job", Arguments: object{"wait_seconds": 50}})
		gone <- err
	}()
	w.await(w.begun)
	leave()
	if err := <-gone; err == nil {
		t.Error("a broken-off call has an answer")
	}
	w.await(w.ended)
	key := w.program(w.owner).do("submit_job", object{"title": "Mend", "repo": "atlas"})["key"]
	if got := w.program(w.owner).do("get_job", object{"job": key}); got["status"] != "ready" {
		t.Errorf("the job is %v", got["status"])
	}
}
