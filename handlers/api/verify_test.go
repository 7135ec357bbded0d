package api_test

import (
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
	ada, bob := w.verified(nil)
	key := w.job("Work", object{"repo": "atlas", "body": "Do it.", "acceptance": []string{"It works."}})
	patch := w.as(ada, "PUT", "/blobs", "diff --git a/x b/x", "Content-Type", "application/octet-stream").want(201).text("sha256")
	w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), object{"commit": "9be04d1a", "branch": "fleet/x", "patch_blob": patch})).want(200)
	w.as(ada, "POST", "/fleet/claim", object{}).want(204)
	claimed := w.as(bob, "POST", "/fleet/claim", object{}).want(200)
	for field, want := range map[string]string{"job": key, "title": "Work", "body": "Do it.", "commit": "9be04d1a", "branch": "fleet/x", "diff_blob": patch} {
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
