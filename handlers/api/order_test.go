package api_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/dispatch/merging"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// An order stands in the claim alone, with all that the worker needs; the explanation of the
// work says who merges it, how, and what became of the last merge.
func TestAClaimCarriesTheOrderAndTheWorkSaysWhoMergesIt(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	atlas := object{"factory": object{"name": "desk", "os": "linux", "repos": []object{{"name": "atlas"}}, "seats": 9}}
	ada := w.agent("ada", atlas)
	w.as(w.owner, "PUT", "/products/books", object{"repos": []string{"atlas"}, "merge_by": "worker", "merge_into": "trunk", "merge_checks": "make test"}).want(201)
	key := w.job("Work", object{"repo": "atlas", "review_required": true})
	w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), object{"commit": "9be04d1a", "branch": "fleet/x"})).want(200)
	why := func() answer { return w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200) }
	waits := func(who, how, detail string) {
		t.Helper()
		e := why()
		if e.count("reasons") != 2 || e.text("reasons", 1, "code") != "merge_waits" || e.text("reasons", 1, "who") != who ||
			e.text("reasons", 1, "how") != how || !strings.Contains(e.text("reasons", 1, "detail"), detail) {
			t.Errorf("it says %s, not %s %s %s", e.raw, who, how, detail)
		}
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/approve", object{"head": "9be04d1"}).want(200)
	waits("worker", "merge_commit", "A factory with atlas merges it into trunk as a merge commit")
	merges := merging.New(w.db, w.jobs, w.dispatch, "https://fleet.example", slog.New(slog.DiscardHandler))
	cycle := func() {
		t.Helper()
		if n, err := merges.MergeApproved(t.Context()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	cycle()
	waits("worker", "merge_commit", "merges it into trunk")
	claimed := w.as(ada, "POST", "/fleet/claim", object{}).want(200)
	order := func(field string) string { return claimed.text("jobs", 0, "order", "merge", field) }
	for field, want := range map[string]string{"job": key, "title": "Work", "url": "https://fleet.example/jobs/" + key, "by": "worker",
		"commit": "9be04d1a", "branch": "fleet/x", "into": "trunk", "method": "merge_commit", "checks": "make test"} {
		if order(field) != want {
			t.Errorf("the order says %s %q, not %q", field, order(field), want)
		}
	}
	waits("worker", "merge_commit", "ada works on it on desk")
	held := object{"job": claimed.text("jobs", 0, "key"), "epoch": claimed.number("jobs", 0, "lease", "epoch")}
	if read := w.as(w.owner, "GET", "/jobs/"+held["job"].(string), nil).want(200); read.at("order") != nil || strings.Contains(string(read.raw), "trunk") {
		t.Errorf("the order is read by all: %s", read.raw)
	}
	w.as(ada, "POST", "/fleet/fail", merge(held, object{"kind": "merge_conflict", "error": "It conflicts.", "retryable": false})).want(200)
	cycle()
	w.as(w.owner, "POST", "/jobs/"+key+"/approve", nil).want(200)
	if e := why(); e.text("reasons", 1, "last_error") != "It conflicts." {
		t.Errorf("the last merge's failure is not told: %s", e.raw)
	}
	w.as(w.owner, "PUT", "/products/books", object{"repos": []string{"atlas"}}).want(200)
	waits("person", "by_hand", "A person merges it")
}

// The kinds of the system are refused to everybody, in each call that makes jobs, and by the
// name of the field.
func TestKindsOfTheSystemAreRefused(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for _, kind := range []string{"merge", "verify", "Merge", "VERIFY"} {
		forged := object{"title": "x", "kind": kind, "input_context": object{"merge": object{"commit": "abc"}}}
		for path, body := range map[string]object{"/jobs": forged, "/jobs/batch": {"jobs": []object{{"title": "y"}, forged}}} {
			for _, header := range [][]string{nil, {"Idempotency-Key", "k"}} {
				a := w.as(w.owner, http.MethodPost, path, body, header...).want(422).refused(fault.Validation)
				if !strings.Contains(string(a.raw), "kind") || !strings.Contains(string(a.raw), "the system alone") {
					t.Errorf("%s to %s: %s", kind, path, a.raw)
				}
			}
		}
	}
	if n := w.as(w.owner, "GET", "/jobs", nil).want(200).count("items"); n != 0 {
		t.Errorf("%d jobs were made", n)
	}
}
