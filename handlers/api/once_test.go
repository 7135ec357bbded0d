package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// harmless are the calls that take no Idempotency-Key, and why none is needed.
var harmless = map[string]string{
	"linkJob":            "a link that is there stays as it is",
	"previewEstimate":    "changes nothing",
	"previewRoutability": "changes nothing", "listEndedBranches": "changes nothing",
	"followPullRequest": "changes nothing when said again",
	"reclaimLeases":     "takes back what has expired; the second finds nothing",
	"noteLosses":        "sets a state",
	"recover":           "takes back what has died; the second finds nothing",
	"heartbeat":         "says how things are",
	"enrolWorkload":     "the same boot of an agent registers again",
	"terminateAgent":    "an agent that has ended stays so",
	"endAgent":          "an agent that has ended stays so",
	"drainFactory":      "sets a state",
	"undrainFactory":    "sets a state",
	"stopFleet":         "sets a state",
	"putDispatch":       "sets a state",
	"addBrowser":        "a browser that is known stays one",
	"testNotifications": "a person asks for a message, and for another one",
	"releaseFleet":      "sets a state",
	"scalePool":         "sets a state of the factory that it names",
	"claimJobs":         "request_id gives the same leases again",
	"startJob":          "a lease is started once: its epoch names it",
	"reportProgress":    "sets a state of the lease that its epoch names",
	"renewLease":        "sets a time of the lease that its epoch names",
	"completeJob":       "a lease ends once: the same again is given the first result",
	"failJob":           "a lease ends once: the same again is given the first result",
	"releaseLease":      "a lease ends once: the same again is given the first result",
	"askQuestion":       "a lease ends once: the same again is given the first result",
	"writeLogs":         "a line's id is stored once",
	"writeSteps":        "a step's number is stored once",
	"reportUsage":       "an entry's id is booked once",
	"reportDelivery":    "the same of a commit is kept once",
	"checkBudget":       "changes nothing",
	"reportBatch":       "its items are calls of this list",
	"ackMessages":       "a message is acknowledged once: its seq names it",
	"nackMessage":       "a message is given back once: its seq names it",
	"ackExport":         "a position only rises",
}

// named is a call that takes an Idempotency-Key: each begin makes what it is about, and
// gives it.
type named struct {
	begin func(n int) (path string, body any)
	other func(body any) any // nil gives a body with another reason
}

// namedCalls returns all calls that take an Idempotency-Key.
func (w *apiServer) namedCalls() map[string]named {
	agent := w.agent("ada", object{"max_concurrent_jobs": 100, "factory": object{"name": "ada-host", "seats": 100}})
	job := func(n int, over ...object) string { return w.job(fmt.Sprint("job ", n), over...) }
	held := func(n int) object {
		key := job(n, object{"review_required": true})
		got := w.as(agent, "POST", "/fleet/claim", object{"job": key}).want(200)
		return object{"job": key, "epoch": got.number("jobs", 0, "lease", "epoch")}
	}
	inReview := func(n int) string {
		lease := held(n)
		w.as(agent, "POST", "/fleet/complete", lease).want(200)
		return lease["job"].(string)
	}
	after := func(path string, begin func(n int) string, body object) func(n int) string {
		return func(n int) string {
			key := begin(n)
			w.as(w.owner, "POST", "/jobs/"+key+path, body).want(200)
			return key
		}
	}
	free := func(n int) string { return job(n) }
	verb := func(name string, begin func(n int) string, body object) named {
		return named{begin: func(n int) (string, any) { return "/jobs/" + begin(n) + "/" + name, body }}
	}
	reason := object{"reason": "so"}
	budget := func(n int) string {
		return w.as(w.owner, "POST", "/budgets", object{"name": fmt.Sprint("budget ", n), "scope": "milestone", "phase": ids.New().String(),
			"period": "month", "limit_usd": "1000"}).want(201).text("id")
	}
	message := func(n int) object {
		return object{"type": "custom.note", "to": object{"agent": "ada"}, "payload": object{"n": n}}
	}
	dead := func(n int) string {
		id := w.as(w.owner, "POST", "/messages", message(n)).want(201).text("id")
		dbfactory.Exec(w.t, w.db, "UPDATE message_delivery SET deliveries = 5, dead_at = now(), error = 'e'")
		return id
	}
	webhook := func() string {
		if w.as(w.owner, "GET", "/webhooks", nil).want(200).count("items") == webhooks.MaxWebhooks {
			dbfactory.Exec(w.t, w.db, "DELETE FROM webhook")
		}
		return w.as(w.owner, "POST", "/webhooks", object{"url": "https://93.184.215.14/"}).want(201).text("webhook", "id")
	}
	title := func(any) any { return object{"title": "another"} }
	amount := func(body any) any { return merge(body.(object), object{"amount_usd": "9"}) }
	return map[string]named{
		"createJob": {begin: func(n int) (string, any) { return "/jobs", object{"title": fmt.Sprint("job ", n)} }, other: title},
		"createJobs": {begin: func(n int) (string, any) {
			return "/jobs/batch", object{"jobs": []object{{"title": fmt.Sprint("job ", n)}}}
		},
			other: func(any) any { return object{"jobs": []object{{"title": "another"}}} }},
		"bulkJobs": {begin: func(n int) (string, any) {
			return "/jobs/bulk", object{"jobs": []string{job(n)}, "action": "cancel", "reason": "so"}
		}},
		"blockJob":   verb("block", free, reason),
		"unblockJob": verb("unblock", after("/block", free, reason), object{}),
		"pauseJob":   verb("pause", free, object{}),
		"resumeJob":  verb("resume", after("/pause", free, object{}), object{}),
		"cancelJob":  verb("cancel", free, reason),
		"finishJob":  verb("complete", free, reason),
		"retryJob":   verb("retry", after("/cancel", free, reason), object{}),
		"archiveJob": verb("archive", after("/cancel", free, reason), object{}),
		"approveJob": verb("approve", inReview, object{}),
		"rejectJob":  verb("reject", inReview, reason),
		"mergeJob":   verb("merge", after("/approve", inReview, object{}), object{}),
		"failMerge":  verb("merge-failed", after("/approve", inReview, object{}), reason),
		"releaseJob": verb("release", func(n int) string { return held(n)["job"].(string) }, reason),
		"addComment": {begin: func(n int) (string, any) {
			lease := held(n)
			w.as(agent, "POST", "/fleet/complete", merge(lease, object{"commit": "9be04d1"})).want(200)
			return "/jobs/" + lease["job"].(string) + "/comments", object{"commit": "9be04d1", "path": "a.go", "text": "Why?"}
		}, other: func(body any) any { return merge(body.(object), object{"text": "Why not?"}) }},
		"answerJob": {begin: func(n int) (string, any) {
			lease := held(n)
			w.as(agent, "POST", "/fleet/ask", merge(lease, object{"question": "Which?"})).want(200)
			return "/jobs/" + lease["job"].(string) + "/answer", object{"answer": "This."}
		}, other: func(any) any { return object{"answer": "That."} }},
		"createBudget": {begin: func(int) (string, any) {
			return "/budgets", object{"name": "made " + ids.New().String(), "scope": "milestone", "phase": ids.New().String(), "period": "month", "limit_usd": "10"}
		}, other: func(body any) any { return merge(body.(object), object{"limit_usd": "11"}) }},
		"raiseBudget": {begin: func(n int) (string, any) { return "/budgets/" + budget(n) + "/raise", object{"amount_usd": "1"} }, other: amount},
		"transferBudget": {begin: func(n int) (string, any) {
			return "/budgets/" + budget(n) + "/transfer", object{"to": budget(n), "amount_usd": "1"}
		}, other: amount},
		"undoBudgetLine": {begin: func(n int) (string, any) {
			from := "/budgets/" + budget(n)
			w.as(w.owner, "POST", from+"/transfer", object{"to": budget(n), "amount_usd": "1"}).want(200)
			return from + "/undo", object{"line": w.as(w.owner, "GET", from+"/ledger", nil).want(200).number("items", 0, "id")}
		}, other: func(any) any { return object{"line": 1} }},
		"sendMessage": {begin: func(n int) (string, any) { return "/messages", message(n) }, other: func(any) any { return message(-1) }},
		"sendMessages": {begin: func(n int) (string, any) {
			return "/messages/batch", object{"messages": []object{message(n), message(n)}}
		},
			other: func(any) any { return object{"messages": []object{message(-1)}} }},
		"redriveDeadLetter": {begin: func(n int) (string, any) { return "/messages/dead/" + dead(n) + "/redrive", nil }},
		"discardDeadLetter": {begin: func(n int) (string, any) { return "/messages/dead/" + dead(n) + "/discard", nil }},
		"createWebhook": {begin: func(int) (string, any) {
			dbfactory.Exec(w.t, w.db, "DELETE FROM webhook")
			return "/webhooks", object{"url": "https://93.184.215.14/" + ids.New().String()}
		}, other: func(any) any { return object{"url": "https://93.184.215.14/another"} }},
		"rotateWebhook": {begin: func(int) (string, any) { return "/webhooks/" + webhook() + "/rotate", object{"overlap_hours": 1} },
			other: func(any) any { return object{"overlap_hours": 2} }},
		"testWebhook": {begin: func(int) (string, any) { return "/webhooks/" + webhook() + "/test", nil }},
		"redeliver": {begin: func(int) (string, any) {
			return "/deliveries/" + w.as(w.owner, "POST", "/webhooks/"+webhook()+"/test", nil).want(200).text("id") + "/redeliver", nil
		}},
		"createExport": {begin: func(int) (string, any) { return "/exports", object{"name": ids.New().String(), "source": "events"} },
			other: func(any) any { return object{"name": "another", "source": "events"} }},
		"resetExport": {begin: func(int) (string, any) {
			name := ids.New().String()
			w.as(w.owner, "POST", "/exports", object{"name": name, "source": "events"}).want(200)
			read := w.as(w.owner, "GET", "/exports/"+name+"/next?limit=1", nil).want(200).text("position")
			return "/exports/" + name + "/reset", object{"position": read}
		}, other: func(any) any { return object{"position": "elsewhere"} }},
	}
}

// effects counts what calls leave behind.
func (w *apiServer) effects() int {
	return dbfactory.Int(w.t, w.db, `SELECT (SELECT count(*) FROM event) + (SELECT count(*) FROM message) + (SELECT count(*) FROM job) +
		(SELECT count(*) FROM budget_ledger) + (SELECT count(*) FROM message_export) + (SELECT count(*) FROM webhook_delivery)`)
}

// secondOwner returns the token of another owner of the workspace, and one more of the first one.
func (w *apiServer) secondOwner() (other, second string) {
	w.t.Helper()
	who := w.person()
	account := dbfactory.NewMember(w.t, w.db, who.Workspace, tenancy.RoleOwner)
	owner, err := w.accounts.Workspaces.Person(w.t.Context(), account, who.Workspace)
	if err != nil {
		w.t.Fatal(err)
	}
	if other, err = w.accounts.Tokens.Issue(w.t.Context(), owner, tokens.NewToken{Kind: tenancy.KindPerson, Name: "another owner"}); err != nil {
		w.t.Fatal(err)
	}
	if second, err = w.accounts.Tokens.Issue(w.t.Context(), who, tokens.NewToken{Kind: tenancy.KindPerson, Name: "second"}); err != nil {
		w.t.Fatal(err)
	}
	return other, second
}

func isReplay(a answer) bool { return a.header.Get("Idempotent-Replayed") == "true" }

// Each POST of the description either takes a name of the request, by which it has its
// effect once, or stands among those that do no harm when they arrive twice.
func TestEachRequestWithAKeyHasItsEffectOnce(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	calls := w.namedCalls()
	other, second := w.secondOwner()
	for path, item := range described.doc.Paths.Map() {
		op := item.Post
		if op == nil {
			continue
		}
		marked := op.Extensions["x-idempotency-key"] == true || op.Parameters.GetByInAndName("header", "Idempotency-Key") != nil
		call, known := calls[op.OperationID]
		switch {
		case marked && !known:
			t.Errorf("POST %s takes an Idempotency-Key and is not tried", path)
		case !marked && harmless[op.OperationID] == "":
			t.Errorf("POST %s takes no Idempotency-Key, and nothing says why it needs none", path)
		case marked:
			t.Run(op.OperationID, func(t *testing.T) {
				once := &onceTest{apiServer: w, t: t, call: call, other: other, second: second}
				once.repeat()
				once.race()
				once.refused()
			})
		}
	}
}

type onceTest struct {
	*apiServer

	t             *testing.T
	call          named
	other, second string // tokens
	n             int
	effect        int // of one call
}

func (o *onceTest) begin() (path string, body any, key string) {
	o.n++
	path, body = o.call.begin(o.n)
	return path, body, ids.New().String()
}

func (o *onceTest) post(token, path string, body any, key string) answer {
	a := o.as(token, "POST", path, body, "Idempotency-Key", key)
	a.t = o.t
	return a
}

// repeat sends the same again, also by another token of the same person, something else
// under the same key, and the same key as somebody else.
func (o *onceTest) repeat() {
	path, body, key := o.begin()
	before := o.effects()
	first := o.post(o.owner, path, body, key)
	if first.status >= 300 || isReplay(first) {
		o.t.Fatalf("the first: %d %v %s", first.status, first.header, first.raw)
	}
	o.effect = o.effects() - before
	for _, token := range []string{o.owner, o.second} {
		again := o.post(token, path, body, key).want(http.StatusOK)
		if !isReplay(again) || !bytes.Equal(again.raw, first.raw) {
			o.t.Errorf("the same again: %v\n%s\nand first\n%s", again.header, again.raw, first.raw)
		}
	}
	if body != nil {
		o.post(o.owner, path, o.another(body), key).want(http.StatusUnprocessableEntity).refused(fault.IdempotencyKeyReused)
	}
	elsewhere, same, _ := o.begin()
	if strings.Count(path, "/") > 2 { // what the call is about is part of the request
		o.post(o.owner, elsewhere, same, key).want(http.StatusUnprocessableEntity).refused(fault.IdempotencyKeyReused)
	}
	if a := o.post(o.other, elsewhere, same, key); isReplay(a) || a.status >= 300 {
		o.t.Errorf("somebody else's same key: %d %v %s", a.status, a.header, a.raw)
	}
}

func (o *onceTest) another(body any) any {
	if o.call.other != nil {
		return o.call.other(body)
	}
	if _, takesReason := body.(object)["reason"]; takesReason {
		return merge(body.(object), object{"reason": "otherwise"})
	}
	return merge(body.(object), object{"version": 999})
}

// race sends the same many times at once.
func (o *onceTest) race() {
	path, body, key := o.begin()
	before := o.effects()
	answers := make([]answer, 6)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = o.post(o.owner, path, body, key) })
	}
	all.Wait()
	firsts := 0
	for _, a := range answers {
		if a.status >= 300 || !bytes.Equal(a.raw, answers[0].raw) {
			o.t.Errorf("at once: %d %s\nand\n%s", a.status, a.raw, answers[0].raw)
		}
		if !isReplay(a) {
			firsts++
		}
	}
	if effect := o.effects() - before; firsts != 1 || effect != o.effect {
		o.t.Errorf("%d were the first, and together left %d, one leaves %d", firsts, effect, o.effect)
	}
}

// refused sends first what is refused: nothing is kept of it.
func (o *onceTest) refused() {
	path, body, key := o.begin()
	o.post(o.owner, path, object{"nonsense": true}, key).want(http.StatusBadRequest)
	if a := o.post(o.owner, path, body, key); a.status >= 300 || isReplay(a) {
		o.t.Errorf("after a refusal: %d %v %s", a.status, a.header, a.raw)
	}
}

// Money under one idempotency key is raised and moved once, whoever is in its way and
// however often it is sent; what ended with an error of the server can be sent again.
func TestMoneyWithAKeyIsMovedOnce(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	var list []string
	for i := range 2 {
		list = append(list, w.as(w.owner, "POST", "/budgets", object{"name": fmt.Sprint("b", i), "scope": "milestone", "phase": fmt.Sprint("m", i),
			"period": "once", "limit_usd": "100"}).want(201).text("id"))
	}
	calls := []struct {
		path string
		body object
	}{{"/budgets/" + list[0] + "/raise", object{"amount_usd": "7"}}, {"/budgets/" + list[0] + "/transfer", object{"to": list[1], "amount_usd": "5"}}}
	lock, err := dbtest.Owner(t, w.db).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Rollback(t.Context()) }()
	if _, err := lock.Exec(t.Context(), "SELECT FROM budget FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	for i, c := range calls {
		if a := w.as(w.owner, "POST", c.path, c.body, "Idempotency-Key", fmt.Sprint("k", i)).want(503); a.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	tooMuch := object{"to": list[1], "amount_usd": "104"}
	w.as(w.owner, "POST", calls[1].path, tooMuch, "Idempotency-Key", "k1").want(409).refused(fault.OverBudget)
	var all sync.WaitGroup
	for i, c := range calls {
		for range 10 {
			all.Go(func() { w.as(w.owner, "POST", c.path, c.body, "Idempotency-Key", fmt.Sprint("k", i)).want(200) })
		}
	}
	all.Wait()
	for i, want := range []string{"102.000000000", "105.000000000"} {
		if got := w.as(w.owner, "GET", "/budgets/"+list[i], nil).text("state", "limit_usd"); got != want {
			t.Errorf("budget %d has %s, want %s", i, got, want)
		}
	}
	if n := dbfactory.Int(t, w.db, "SELECT count(*) FROM budget_ledger WHERE kind IN ('raise', 'transfer_in', 'transfer_out')"); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
}

// What changed a budget is answered as it was first, whatever has become of the budget since.
func TestARepetitionOfAChangeOfABudget(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	paths, bodies, firsts := []string{}, []object{}, []answer{}
	post := func(path string, body object) answer {
		first := w.as(w.owner, "POST", path, body, "Idempotency-Key", fmt.Sprint("k", len(firsts)))
		paths, bodies, firsts = append(paths, path), append(bodies, body), append(firsts, first)
		return first
	}
	create := func(name string) string {
		return "/budgets/" + post("/budgets", object{"name": name, "scope": "milestone", "phase": name, "period": "month", "limit_usd": "100.5",
			"limit_tokens": 1_000_000, "limit_runs": 10}).want(201).text("id")
	}
	path, other := create("one"), create("other")
	w.job("a job", object{"phase": "one"})
	w.claim(w.agent("ada"))
	post(path+"/raise", object{"amount_usd": "7"}).want(200)
	post(path+"/transfer", object{"to": strings.TrimPrefix(other, "/budgets/"), "amount_usd": "5"}).want(200)
	line := w.as(w.owner, "GET", path+"/ledger", nil).want(200).number("items", 0, "id")
	undone := post(path+"/undo", object{"line": line}).want(200)
	if undone.text("state", "reserved_usd") == "0.000000000" || undone.number("state", "runs") != 1 {
		t.Errorf("nothing is reserved: %s", undone.raw)
	}
	w.as(w.owner, "POST", path+"/raise", object{"amount_usd": "1"}).want(200)
	w.as(w.owner, "DELETE", other, nil).want(204)
	for i, first := range firsts {
		again := w.as(w.owner, "POST", paths[i], bodies[i], "Idempotency-Key", fmt.Sprint("k", i)).want(200)
		if !isReplay(again) || !bytes.Equal(again.raw, first.raw) {
			t.Errorf("%s again: %v\n%s\nand first\n%s", paths[i], again.header, again.raw, first.raw)
		}
	}
	// An older server stored budgets by the names of their fields, with amounts as numbers.
	for i, stored := range map[int]string{0: `{"ID": %q, "Limits": {"Money": 5}, "Slice": 1, "State": {"Start": %[2]q, "Settled": {"Money": 3}}}`,
		2: `{"Line": 1, "Budget": {"ID": %q, "Limits": {"Money": 5}, "Slice": 1, "State": {"Start": %[2]q, "Settled": {"Money": 3}}}}`} {
		dbfactory.Exec(t, w.db, `UPDATE idempotent_request SET answer = $1`, fmt.Sprintf(stored, strings.TrimPrefix(path, "/budgets/"), "2026-01-01T00:00:00Z"))
		again := w.as(w.owner, "POST", paths[i], bodies[i], "Idempotency-Key", fmt.Sprint("k", i)).want(200)
		if now := w.as(w.owner, "GET", path, nil).want(200); !isReplay(again) || !bytes.Equal(again.raw, now.raw) {
			t.Errorf("%s again: %s\nand now\n%s", paths[i], again.raw, now.raw)
		}
	}
}

// What a request made and somebody deleted since is not made again.
func TestARepetitionOfWhatWasDeleted(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	body := object{"title": "gone"}
	key := w.as(w.owner, "POST", "/jobs", body, "Idempotency-Key", "k").want(201).text("key")
	w.as(w.owner, "POST", "/jobs/"+key+"/cancel", object{"reason": "no"}).want(200)
	w.as(w.owner, "DELETE", "/jobs/"+key, nil).want(204)
	w.as(w.owner, "POST", "/jobs", body, "Idempotency-Key", "k").want(404).refused(fault.NotFound)
}

// Keys go after a day, a few with each new one.
func TestOldKeysGo(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for i := range 5 {
		w.as(w.owner, "POST", "/jobs", object{"title": "a job"}, "Idempotency-Key", fmt.Sprint("k", i)).want(201)
	}
	dbfactory.Exec(t, w.db, "UPDATE idempotent_request SET created_at = now() - interval '25 hours'")
	for i := range 3 {
		w.as(w.owner, "POST", "/jobs", object{"title": "a job"}, "Idempotency-Key", fmt.Sprint("later", i)).want(201)
	}
	if n := dbfactory.Int(t, w.db, "SELECT count(*) FROM idempotent_request"); n != 3 {
		t.Errorf("%d keys are kept, want the 3 of today", n)
	}
	for _, bad := range []string{strings.Repeat("k", 256)} {
		w.as(w.owner, "POST", "/jobs/FB-1/pause", nil, "Idempotency-Key", bad).want(422)
	}
}

// What a sender calls its request is kept as a digest, by the rule of the migration that
// digested those of before: it may be a line with a secret in it.
func TestNamesOfRequestsAreKeptAsDigests(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	const name = "deploy with sk-ant-secret"
	key := w.job("a job")
	w.as(w.owner, "POST", "/jobs/"+key+"/pause", object{}, "Idempotency-Key", name).want(200)
	w.as(w.owner, "POST", "/jobs/bulk", object{"jobs": []string{key}, "action": "cancel", "reason": "so"}, "Idempotency-Key", name+"s").want(200)
	if n := dbfactory.Int(t, w.db, "SELECT count(*) FROM idempotent_request WHERE key !~ '^sha256:[0-9a-f]{64}$'"); n != 0 {
		t.Errorf("%d names are kept as they were sent", n)
	}
	if n := dbfactory.Int(t, w.db, "SELECT count(*) FROM idempotent_request WHERE key = 'sha256:' || encode(sha256(convert_to($1, 'UTF8')), 'hex')", name); n != 1 {
		t.Errorf("%d rows have the name's digest", n)
	}
}
