package api_test

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/db/dbfactory"
)

// secretMark is in the first and in the last 16 bytes of each secret of the walk.
const secretMark = "zq7mark"

// agentWrites are what each call of an agent that writes is sent beside the lease, by its
// operation; a lease goes with all that take one.
var agentWrites = map[string]func() object{
	"startJob": nothing, "reportProgress": nothing, "renewLease": nothing, "completeJob": nothing, "claimJobs": nothing,
	"releaseLease": func() object { return object{"reason": "r"} },
	"failJob":      func() object { return object{"error": "x", "retryable": true} },
	"askQuestion":  func() object { return object{"question": "Why?"} },
	"writeLogs":    func() object { return object{"lines": []any{object{"level": "INFO", "message": "m"}}} },
	"writeSteps": func() object {
		return object{"steps": []any{object{"n": 1, "kind": "message", "title": "t", "cost_usd": "1"}}}
	},
	"reportDelivery": func() object { return object{"state": "refused", "branch": "b", "commit": "c"} },
	"reportUsage":    func() object { return object{"entries": []any{usageOf("u")}} },
	"heartbeat":      func() object { return object{"boot_id": "", "status": "working"} },
	"createJob":      func() object { return object{"title": "found"} },
	"sendMessage":    note,
	"sendMessages":   func() object { return object{"messages": []any{note()}} },
	"registerAgent":  func() object { return object{"boot_id": "", "max_concurrent_jobs": 10} },
}

func nothing() object { return object{} }

// hostOf returns a factory that says of all that it can say.
func hostOf(agent string) object {
	at := "2026-01-02T03:04:05Z"
	return object{"name": agent + "-host", "seats": 10, "repos": []any{object{"name": "atlas"}},
		"unavailable": []any{object{"kind": "engine", "name": "claude", "reason": "r", "since": at}},
		"rescued":     []any{object{"name": "FB-1", "path": "/p", "why": "w", "since": at}}}
}

func note() object {
	return object{"type": "custom.note", "to": object{"role": "worker"}, "payload": object{}}
}

// agentElsewhere are the calls of agents that the walk leaves out, and why.
var agentElsewhere = map[string]string{
	"checkBudget": "writes nothing",
	"endAgent":    "says nothing",
	"reportBatch": "made of the reports above", "previewEstimate": "writes nothing", "previewRoutability": "writes nothing",
	"listEndedBranches": "writes nothing", "followPullRequest": "TestAPullRequestKeepsNoSecret of internal/dispatch",
	"searchJobs": "writes nothing", "readMessages": "writes nothing", "searchMessages": "writes nothing", "ackMessages": "takes numbers alone",
	"answerJob": "TestAnAgentsAnswerHasNoSecrets of internal/dispatch", "nackMessage": "TestWhyAMessageIsGivenBackKeepsNoSecret",
	"putBlob": "a content is known by its SHA-256, and is encrypted: TestAContentBesideSecretsIsSealed of internal/blobs",
}

func usageOf(id string) object {
	return object{"id": id, "provider": "anthropic", "model": "m", "input_tokens": 1, "output_tokens": 1, "at": "2026-01-02T03:04:05Z"}
}

// Whatever an agent writes, and wherever, the secret of a job that it holds is not kept: not as
// a whole, nor its beginning or its end. Each text of each call in openapi.yaml is tried.
func TestNothingThatAgentsWriteKeepsASecret(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	dbfactory.Exec(t, w.db, "UPDATE access_token SET may_submit = true, roles = '{worker,orchestrator}' WHERE kind = 'enrolment'")
	doc, err := openapi3.NewLoader().LoadFromFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	walked, n := map[string]bool{}, 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if method == "GET" || method == "HEAD" || !isForAgents(op) {
				continue
			}
			base, known := agentWrites[op.OperationID]
			if !known {
				if agentElsewhere[op.OperationID] == "" {
					t.Errorf("%s is a call of agents that is not walked", op.OperationID)
				}
				continue
			}
			walked[op.OperationID] = true
			schema := op.RequestBody.Value.Content["application/json"].Schema.Value
			for _, field := range textsIn(schema, "") {
				n++
				w.tells(leaky{number: n, method: method, path: path, op: op.OperationID, field: field, base: base, schema: schema})
			}
		}
	}
	for op := range agentWrites {
		if !walked[op] {
			t.Errorf("%s is no call of agents any more", op)
		}
	}
	w.keepsNone()
}

// leaky is a call with a secret in one of its texts.
type leaky struct {
	number                  int
	method, path, op, field string
	base                    func() object
	schema                  *openapi3.Schema
}

// tells makes a call of an agent that holds a job with a secret.
func (w *apiServer) tells(c leaky) {
	w.t.Helper()
	name := fmt.Sprint("agent-", c.number)
	token := w.agent(name, object{"roles": []string{"worker"}})
	secret := fmt.Sprintf("%s%03d-long-%03d%s", secretMark, c.number, c.number, secretMark)
	key := w.job("Secret", object{"input_context": object{"token": secret}, "secret_keys": []string{"token"}, "key": fmt.Sprintf("S-%d", c.number),
		"acceptance": []string{"It works."}})
	held := w.as(token, "POST", "/fleet/claim", object{"job": key}).want(200)
	ref := object{"job": key, "epoch": held.number("jobs", 0, "lease", "epoch")}
	body := c.base()
	switch {
	case c.op == "createJob":
		body["discovered_from"] = ref
	case c.op == "heartbeat":
		body["leases"] = []any{ref}
	case c.schema.Properties["epoch"] != nil:
		body = merge(body, ref)
	}
	if strings.Contains(c.field, "usage[]") {
		at := body
		if c.op == "heartbeat" {
			at = ref
		}
		at["usage"] = []any{usageOf(fmt.Sprint("u-", c.number))}
	}
	if strings.Contains(c.field, "comments[]") {
		body["comments"] = []any{object{"id": w.addComment(key), "note": "done"}}
	}
	if strings.Contains(c.field, "model.") {
		at := body
		if c.op == "heartbeat" {
			at = ref
		}
		at["model"] = object{"engine": "claude", "name": "m-1", "why": "default"}
	}
	if strings.HasPrefix(c.field, ".proofs") {
		body["commit"] = "abc1234"
		body["proofs"] = []any{object{"criterion": "It works.", "commit": "abc1234", "blob": w.putBlob(token, name).text("sha256")}}
	}
	if _, named := body["boot_id"]; named {
		body["boot_id"] = name + "-boot"
	}
	switch c.op {
	case "registerAgent":
		token = w.enrolment
		body["factory"] = hostOf(name)
	case "heartbeat":
		if strings.HasPrefix(c.field, ".factory") {
			body["factory"] = hostOf(name)
		}
	case "sendMessage", "sendMessages":
		if strings.Contains(c.field, ".to.") {
			delete(firstOf(body), "to")
		}
	}
	set(body, strings.Split(strings.TrimPrefix(c.field, "."), "."), textOf(secret, c.schema, c.field))
	if a := w.as(token, c.method, strings.ReplaceAll(c.path, "{agent}", name), body); a.status >= 500 {
		w.t.Errorf("%s%s: %d %s", c.op, c.field, a.status, a.raw)
	} else if refused := a.status >= 300; refused != c.isName() {
		w.t.Errorf("%s%s: %d %s", c.op, c.field, a.status, a.raw)
	}
}

// agentNames are the fields that name something or have a form of their own: another value
// would mean another thing, so that a secret in them is refused.
var agentNames = map[string]string{
	"sendMessage": "blob correlation_id id in_reply_to job to.agent to.factory to.person to.role type",
	"createJob":   "budget_usd capabilities[] depends_on[] discovered_from.job factory idempotency_key key kind product repo secret_keys[]",
	"heartbeat":   "boot_id factory.name", "registerAgent": "factory.name factory.pool name roles[]", "failJob": "job kind",
	"reportProgress": "job", "reportDelivery": "job", "startJob": "job", "writeLogs": "job", "releaseLease": "job", "renewLease": "job", "completeJob": "comments[].id job proofs[].commit proofs[].criterion",
	"askQuestion": "job", "claimJobs": "job", "writeSteps": "job steps[].cost_usd",
}

func (c leaky) isName() bool {
	op, field := c.op, strings.TrimPrefix(c.field, ".")
	if op == "sendMessages" {
		op, field = "sendMessage", strings.TrimPrefix(field, "messages[].")
	}
	return slices.Contains(strings.Fields(agentNames[op]), field)
}

// TestWhyAMessageIsGivenBackKeepsNoSecret of the job that its reader holds.
func TestWhyAMessageIsGivenBackKeepsNoSecret(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, secret := w.agent("ada"), secretMark+"-a-long-one-"+secretMark
	w.job("Secret", object{"input_context": object{"token": secret}, "secret_keys": []string{"token"}})
	w.claim(ada)
	w.as(w.owner, "POST", "/messages", object{"type": "custom.note", "to": object{"agent": "ada"}, "payload": object{}}).want(201)
	seq := w.as(ada, "GET", "/messages?wait_seconds=50", nil).want(200).number("items", 0, "seq")
	w.as(ada, "POST", "/messages/nack", object{"seq": seq, "error": "cannot use " + secret + ", " + secret[:16] + "..."}).want(200)
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM message_delivery WHERE error = 'cannot use [secret], [secret]...'`); n != 1 {
		t.Errorf("%d deliveries say why", n)
	}
	w.keepsNone()
}

func isForAgents(op *openapi3.Operation) bool {
	return op.Security != nil && slices.ContainsFunc(*op.Security, func(one openapi3.SecurityRequirement) bool {
		return one["agentToken"] != nil || one["enrolmentToken"] != nil
	})
}

// textsIn returns the fields of a schema that take any text or any JSON: ".lines[].message".
func textsIn(s *openapi3.Schema, at string) []string {
	var list []string
	switch {
	case s.Type.Is("array"):
		return textsIn(s.Items.Value, at+"[]")
	case s.Type.Is("string") && len(s.Enum) == 0 && s.Format == "" && s.Pattern == "", s.Type.Is("object") && len(s.Properties) == 0:
		return []string{at}
	case s.Type.Is("object"):
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			list = append(list, textsIn(s.Properties[name].Value, at+"."+name)...)
		}
	}
	return list
}

// textOf returns what is said in a field: as much of the secret as fits.
func textOf(secret string, s *openapi3.Schema, field string) any {
	for part := range strings.SplitSeq(strings.TrimPrefix(field, "."), ".") {
		name, lists := strings.CutSuffix(part, "[]")
		if s = s.Properties[name].Value; lists {
			s = s.Items.Value
		}
	}
	for end, before := range map[string]string{".url": "https://x/", ".type": "custom.", ".role": "custom:", ".roles[]": "custom:", ".capabilities[]": "has:", ".repos[].name": ""} {
		if strings.HasSuffix(field, end) && s.Type.Is("string") {
			return before + secret
		}
	}
	long := fmt.Sprintf("it is %s, %s… or …%s", secret, secret[:16], secret[len(secret)-16:])
	switch {
	case s.Type.Is("object"):
		return object{"said": long, secret: []string{long, secret}, "cut": secret[:20] + "..."}
	case s.MaxLength != nil && *s.MaxLength >= 120:
		return long
	}
	return secret
}

// firstOf returns the message of a call that sends one or several.
func firstOf(body object) object {
	if list, ok := body["messages"].([]any); ok {
		first, _ := list[0].(object)
		return first
	}
	return body
}

// set puts a value into a body, below its path.
func set(at object, path []string, value any) {
	name, lists := strings.CutSuffix(path[0], "[]")
	if len(path) == 1 {
		if at[name] = value; lists {
			at[name] = []any{value}
		}
		return
	}
	below := object{}
	if list, ok := at[name].([]any); ok && len(list) > 0 {
		below, _ = list[0].(object)
	} else if one, ok := at[name].(object); ok {
		below = one
	}
	below = merge(below, object{})
	if at[name] = below; lists {
		at[name] = []any{below}
	}
	set(below, path[1:], value)
}

// keepsNone fails where a row of any table has the mark of a secret, as it is or as the
// database shows bytes.
func (w *apiServer) keepsNone() {
	w.t.Helper()
	tables := dbfactory.Text(w.t, w.db, `SELECT string_agg(relname, ' ') FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`)
	for table := range strings.FieldsSeq(tables) {
		found := dbfactory.Text(w.t, w.db, fmt.Sprintf(`SELECT coalesce(string_agg(left(t::text, 2000), E'\n'), '') FROM (SELECT t FROM %q t
			WHERE t::text ILIKE '%%%s%%' OR t::text ILIKE '%%%s%%' LIMIT 3) t`, table, secretMark, hex.EncodeToString([]byte(secretMark))))
		if found != "" {
			w.t.Errorf("the table %s keeps a secret:\n%s", table, found)
		}
	}
}
