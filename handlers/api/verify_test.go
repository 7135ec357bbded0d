package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/dispatch/verifying"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// verified has the work of a product verified, and returns two agents with its repo.
func (w *apiServer) verified(change object) (ada, bob string) {
	w.t.Helper()
	atlas := object{"factory": object{"name": "desk", "os": "linux", "repos": []object{{"name": "atlas"}}, "seats": 9}}
	w.as(w.owner, "PUT", "/products/books", merge(object{"repos": []string{"atlas"}, "review_required": true,
		"verify": object{"mode": "agent"}}, change)).want(201)
	return w.agent("ada", atlas), w.agent("bob", atlas)
}

func TestSettingsOfVerification(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	made := w.as(w.owner, "PUT", "/products/books", object{"repos": []string{"atlas"}}).want(201)
	if made.text("verify", "mode") != "off" || made.number("verify", "rounds") != 2 || made.text("verify", "distinct") != "agent" || made.count("verify", "capabilities") != 0 {
		t.Errorf("a new product: %s", made.raw)
	}
	full := object{"mode": "agent", "capabilities": []string{"has:browser"}, "rounds": 0, "distinct": "provider"}
	w.as(w.owner, "PUT", "/products/books", object{"verify": full}).want(200)
	read := w.as(w.owner, "GET", "/products/books", nil).want(200)
	if read.text("verify", "mode") != "agent" || read.number("verify", "rounds") != 0 || read.text("verify", "distinct") != "provider" || read.text("verify", "capabilities", 0) != "has:browser" {
		t.Errorf("it became %s", read.raw)
	}
	for field, verify := range map[string]object{"verify.mode": {"mode": "person"}, "verify.rounds": {"rounds": 6}, "verify.distinct": {"distinct": "mood"},
		"verify.capabilities[0]": {"capabilities": []string{"!agent:ada"}}} {
		a := w.as(w.owner, "PUT", "/products/books", object{"verify": verify}).want(422)
		if !strings.Contains(string(a.raw), field) {
			t.Errorf("%s: %s", field, a.raw)
		}
	}
	log := w.as(w.owner, "GET", "/events?type=product.saved&order=desc", nil).want(200)
	if !strings.Contains(string(log.raw), `"verify_mode"`) || !strings.Contains(string(log.raw), `"verify_distinct"`) {
		t.Errorf("the log says %s", log.raw)
	}
}

// The claim of a verify job carries its order, and only that; what it cost is a figure of the work's own.
func TestAClaimCarriesTheOrderToVerify(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, bob := w.verified(object{"merge_into": "trunk", "merge_checks": "make test"})
	key := w.job("Work", object{"repo": "atlas", "body": "Do it.", "acceptance": []string{"It works."}})
	patch := w.as(ada, "PUT", "/blobs", "diff --git a/x b/x", "Content-Type", "application/octet-stream").want(201).text("sha256")
	w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), object{"commit": "9be04d1a", "branch": "fleet/x", "patch_blob": patch})).want(200)
	w.as(ada, "POST", "/fleet/claim", object{}).want(204)
	claimed := w.as(bob, "POST", "/fleet/claim", object{}).want(200)
	for field, want := range map[string]string{"job": key, "title": "Work", "body": "Do it.", "commit": "9be04d1a", "branch": "fleet/x", "diff_blob": patch,
		"into": "trunk", "checks": "make test"} {
		if got := claimed.text("jobs", 0, "order", "verify", field); got != want {
			t.Errorf("the order says %s %q, not %q", field, got, want)
		}
	}
	if claimed.number("jobs", 0, "order", "verify", "attempt") != 1 || claimed.text("jobs", 0, "order", "verify", "acceptance", 0) != "It works." {
		t.Errorf("the order is %s", claimed.raw)
	}
	w.as(bob, "GET", "/blobs/"+patch, nil).want(200)
	held := object{"job": claimed.text("jobs", 0, "key"), "epoch": claimed.number("jobs", 0, "lease", "epoch")}
	w.as(bob, "POST", "/fleet/usage", merge(held, object{"entries": []object{{"id": "1", "provider": "p", "model": "m", "input_tokens": 5, "output_tokens": 1, "cost_usd": "0.5", "at": "2026-11-01T00:00:00Z"}}})).want(200)
	work := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	if work.text("verify_usd") != "0.500000000" || work.text("spent_usd") != "0.000000000" {
		t.Errorf("the work cost %s, its verification %s", work.text("spent_usd"), work.text("verify_usd"))
	}
	by := w.as(w.owner, "GET", "/usage?group_by=purpose", nil).want(200)
	if by.count("items") != 1 || by.text("items", 0, "group") != "verify" && by.text("items", 0, "name") != "verify" {
		t.Errorf("by purpose: %s", by.raw)
	}
	w.as(w.owner, "POST", "/jobs/"+held["job"].(string)+"/complete", object{"reason": "x"}).want(409).refused(fault.InvalidTransition)
	// Deleted work leaves a verification without an order, which ends.
	w.as(w.owner, "POST", "/jobs/"+key+"/cancel", object{"reason": "no"}).want(200)
	w.as(w.owner, "DELETE", "/jobs/"+key, nil).want(204)
	if n, err := verifying.New(w.db, w.dispatch).EndVerifications(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if v := w.as(w.owner, "GET", "/jobs/"+held["job"].(string), nil).want(200); v.text("lease", "directive") != "cancel" {
		t.Errorf("the verify job is %s", v.raw)
	}
}

const divides = `{"verdict": "changes", "criteria": [], "findings": [{"path": "a.go", "line": 7, "severity": "blocker", "text": "It divides by zero."}]}`

// The explanation of work in review says who verifies it, and why nobody does; jobs are listed by what
// verifiers said.
func TestTheExplanationSaysWhoVerifies(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, _ := w.verified(nil)
	why := func(key, state, detail string) answer {
		t.Helper()
		e := w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200)
		if e.text("reasons", 1, "code") != "verification" || e.text("reasons", 1, "state") != state || !strings.Contains(e.text("reasons", 1, "detail"), detail) {
			t.Errorf("it says %s; want %s, %s", e.raw, state, detail)
		}
		return e
	}
	handIn := func(commit string) {
		t.Helper()
		w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), object{"commit": commit})).want(200)
	}
	bare := w.job("Bare", object{"repo": "atlas"})
	handIn("")
	why(bare, "no_commit", "It names no commit, so nobody verifies it")
	w.as(w.owner, "POST", "/jobs/"+bare+"/cancel", object{"reason": "no"}).want(200)

	key := w.job("Work", object{"repo": "atlas"})
	handIn("abc1234")
	why(key, "waits", "Waits for an agent to verify it since 20")
	w.as(w.owner, "POST", "/agents/bob/terminate", object{"reason": "x", "graceful": true}).want(200)
	e := why(key, "nobody", "ada wrote the work, and no other agent could; decide without it, or start another agent")
	if e.text("reasons", 1, "missing", 0) != "!agent:ada" || e.text("reasons", 1, "nearest") != "desk" {
		t.Errorf("it says %s", e.raw)
	}
	bob := w.agent("bob2", object{"factory": object{"name": "desk", "os": "linux", "repos": []object{{"name": "atlas"}}, "seats": 9}})
	why(key, "waits", "Waits")
	held := w.claim(bob)
	if e := why(key, "works", "bob2 verifies it on desk since 20"); e.text("reasons", 1, "by", "name") != "bob2" || e.text("reasons", 1, "jobs", 0) != held["job"] {
		t.Errorf("it says %s", e.raw)
	}
	w.as(bob, "POST", "/fleet/complete", merge(held, object{"result": object{"verdict": "good"}})).want(422).refused(fault.Validation, "result.verdict")
	w.as(bob, "POST", "/fleet/complete", merge(held, object{"result": raw(divides)})).want(200)
	back := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	if back.text("status") != "ready" || back.text("verdict") != "changes" || back.number("round") != 1 || !strings.Contains(back.text("feedback"), "a.go:7") {
		t.Errorf("sent back it is %s", back.raw)
	}
	if v := w.as(w.owner, "GET", "/jobs/"+held["job"].(string), nil).want(200); v.text("verifies") != key || v.text("result", "verdict") != "changes" {
		t.Errorf("the verify job is %s", v.raw)
	}
	handIn("def5678")
	w.as(bob, "POST", "/fleet/complete", merge(w.claim(bob), object{"result": object{"verdict": "unsure"}})).want(200)
	if e := why(key, "said", "bob2 is not sure"); e.text("reasons", 1, "verdict") != "unsure" {
		t.Errorf("it says %s", e.raw)
	}
	for query, want := range map[string]int{"verdict=unsure": 1, "verdict=changes": 0, "round_gte=1": 1, "round_gte=2": 0, "verdict=unsure&round_gte=1": 1} {
		if list := w.as(w.owner, "GET", "/jobs?"+query, nil).want(200); list.count("items") != want {
			t.Errorf("%s: %s", query, list.raw)
		}
	}
	w.as(w.owner, "GET", "/jobs?verdict=fine", nil).want(422).refused(fault.Validation, "verdict")
	told := w.as(w.owner, "GET", "/jobs/"+key+"/events", nil).want(200)
	if !strings.Contains(string(told.raw), `"job.verdict_given"`) || !strings.Contains(string(told.raw), `"policy"`) {
		t.Errorf("the history is %s", told.raw)
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// The verifications of a job are listed with their rounds, who gave them, what they say and what they cost.
func TestTheVerificationsOfAJobAreListed(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, bob := w.verified(nil)
	key := w.job("Work", object{"repo": "atlas", "acceptance": []string{"It works."}})
	list := func(query string) answer { return w.as(bob, "GET", "/jobs/"+key+"/verifications"+query, nil).want(200) }
	if l := list(""); l.count("items") != 0 || l.text("next_cursor") != "" {
		t.Errorf("of work that nobody handed in there are %s", l.raw)
	}
	w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), object{"commit": "abc1234", "branch": "fleet/x"})).want(200)
	if l := list(""); l.text("items", 0, "status") != "open" || l.text("items", 0, "agent") != "" || l.at("items", 0, "since") != nil {
		t.Errorf("before anybody begins there are %s", l.raw)
	}
	held := w.claim(bob)
	if l := list(""); l.text("items", 0, "status") != "open" || l.text("items", 0, "agent") != "bob" || l.text("items", 0, "factory") != "desk" {
		t.Errorf("while bob verifies there are %s", l.raw)
	}
	w.as(bob, "POST", "/fleet/usage", merge(held, object{"entries": []object{{"id": "1", "provider": "p", "model": "m", "input_tokens": 5, "output_tokens": 1, "cost_usd": "0.5", "at": "2026-11-01T00:00:00Z"}}})).want(200)
	says := `{"verdict": "changes", "criteria": [{"text": "It works.", "met": "no", "evidence": "It panics."}], "findings": [{"path": "a.go", "line": 7, "severity": "blocker", "text": "It divides by zero."}]}`
	w.as(bob, "POST", "/fleet/complete", merge(held, object{"result": raw(says)})).want(200)
	w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), object{"commit": "def5678"})).want(200)
	l := list("")
	for field, want := range map[string]string{"status": "verdict", "verdict": "changes", "commit": "abc1234", "branch": "fleet/x", "agent": "bob", "cost_usd": "0.500000000", "job": held["job"].(string)} {
		if got := l.text("items", 1, field); got != want {
			t.Errorf("the first one says %s %q, not %q", field, got, want)
		}
	}
	for i, want := range []string{"2 3 2", "1 3 1"} {
		if got := fmt.Sprint(l.number("items", i, "round"), l.number("items", i, "rounds"), l.number("items", i, "attempt")); got != want {
			t.Errorf("%d is round, of rounds, of attempt %s, not %s", i, got, want)
		}
	}
	said := fmt.Sprint(l.text("items", 1, "criteria", 0, "evidence"), " ", l.text("items", 1, "findings", 0, "path"), ":", l.number("items", 1, "findings", 0, "line"))
	if said != "It panics. a.go:7" {
		t.Errorf("there are %s", l.raw)
	}
	// One that ends without a verdict is closed.
	w.as(w.owner, "POST", "/jobs/"+l.text("items", 0, "job")+"/cancel", object{"reason": "no"}).want(200)
	if l := list(""); l.text("items", 0, "status") != "closed" || l.text("items", 0, "verdict") != "" {
		t.Errorf("cancelled it is %s", l.raw)
	}
}

// A list of verifications comes in pages.
func TestTheVerificationsOfAJobComeInPages(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, bob := w.verified(nil)
	key := w.job("Work", object{"repo": "atlas"})
	list := func(query string) answer { return w.as(bob, "GET", "/jobs/"+key+"/verifications"+query, nil).want(200) }
	w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), object{"commit": "abc1234"})).want(200)
	w.as(bob, "POST", "/fleet/complete", merge(w.claim(bob), object{"result": raw(divides)})).want(200)
	w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), object{"commit": "def5678"})).want(200)
	first := list("?limit=1")
	if first.count("items") != 1 || first.text("items", 0, "commit") != "def5678" {
		t.Errorf("the first page is %s", first.raw)
	}
	if rest := list("?limit=1&cursor=" + first.text("next_cursor")); rest.count("items") != 1 || rest.text("items", 0, "commit") != "abc1234" || rest.text("next_cursor") != "" {
		t.Errorf("the next page is %s", rest.raw)
	}
	w.as(w.owner, "GET", "/jobs/FB-404/verifications", nil).want(404).refused(fault.NotFound)
	w.as(w.owner, "GET", "/jobs/"+key+"/verifications?cursor=x", nil).want(422).refused(fault.Validation, "cursor")
	w.as(w.owner, "GET", "/jobs/"+key+"/verifications?limit=21", nil).want(422)
	w.as(w.enrolment, "GET", "/jobs/"+key+"/verifications", nil).want(403).refused(fault.Forbidden)
}
