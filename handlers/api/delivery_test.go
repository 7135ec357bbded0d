package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// What became of a commit is reported after the end of the lease, and read with the attempt; a
// refusal is explained in the origin's words as long as it lasts.
func TestWhatBecameOfACommitIsToldAndRead(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada", object{"factory": object{"name": "desk", "os": "linux", "repos": []object{{"name": "atlas"}}, "seats": 9}})
	eve := w.agent("eve", object{"factory": object{"name": "cellar", "os": "linux", "seats": 9}})
	w.as(w.owner, "PUT", "/products/books", object{"repos": []string{"atlas"}, "merge_by": "worker"}).want(201)
	key := w.job("Work", object{"repo": "atlas", "review_required": true})
	ref := w.claim(ada)
	w.as(ada, "POST", "/fleet/complete", merge(ref, object{"commit": "9be04d1a", "branch": "fleet/x", "delivery_follows": true})).want(200)
	delivery := func() any {
		return w.as(w.owner, "GET", "/jobs/"+key+"/attempts", nil).want(200).at("items", 0, "delivery")
	}
	if delivery() != nil {
		t.Errorf("before anything is told it is %v", delivery())
	}
	told := func(state, detail string) object {
		return merge(ref, object{"state": state, "branch": "fleet/x", "commit": "9be04d1a", "detail": detail})
	}
	w.as(eve, "POST", "/fleet/delivery", told("pushed", "")).want(403).refused(fault.Forbidden)
	w.as(w.owner, "POST", "/fleet/delivery", told("pushed", "")).want(403)
	w.as(ada, "POST", "/fleet/delivery", told("refused", strings.Repeat("x", 2001))).want(422).refused(fault.Validation, "detail")
	w.as(ada, "POST", "/fleet/delivery", told("refused", "a\x00b")).want(422).refused(fault.Validation, "detail")
	w.as(ada, "POST", "/fleet/delivery", told("awaited", "")).want(422).refused(fault.Validation, "state")
	w.as(ada, "POST", "/fleet/delivery", told("refused", strings.Repeat("x", 6<<20))).want(413).refused(fault.TooLarge)

	w.as(w.owner, "POST", "/jobs/"+key+"/approve", nil).want(200)
	why := func() answer { return w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200) }
	if e := why(); e.count("reasons") != 2 || !strings.Contains(e.text("reasons", 1, "last_error"), "desk has yet to say") {
		t.Errorf("while nothing is told it says %s", e.raw)
	}
	w.as(ada, "POST", "/fleet/delivery", told("refused", "branches need a ticket\nask Mara")).want(200)
	e := why()
	if e.count("reasons") != 3 || e.text("reasons", 1, "code") != "delivery_refused" ||
		!strings.Contains(e.text("reasons", 1, "detail"), "branches need a ticket ask Mara") ||
		e.text("reasons", 1, "last_error") != "branches need a ticket\nask Mara" ||
		!strings.Contains(e.text("reasons", 2, "last_error"), "the origin refused 9be04d1: branches need a ticket") {
		t.Errorf("the refusal is explained as %s", e.raw)
	}
	a := w.as(ada, "POST", "/fleet/delivery", told("pushed", "")).want(200)
	if a.text("state") != "pushed" || a.text("at") == "" {
		t.Errorf("the push is answered with %s", a.raw)
	}
	if late := w.as(ada, "POST", "/fleet/delivery", told("refused", "late")).want(200); late.text("state") != "pushed" || late.text("at") != a.text("at") {
		t.Errorf("an old call is answered with %s", late.raw)
	}
	if e := why(); e.count("reasons") != 2 || e.at("reasons", 1, "last_error") != nil {
		t.Errorf("after the push it says %s", e.raw)
	}
	of, _ := delivery().(object)
	if of["state"] != "pushed" || of["branch"] != "fleet/x" || of["commit"] != "9be04d1a" || of["detail"] != "" {
		t.Errorf("the attempt says %v", of)
	}
}

// Work that needed no review is completed, and its refusal is reported all the same.
func TestARefusalOfCompletedWorkIsExplained(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Work")
	ref := w.claim(ada)
	w.as(ada, "POST", "/fleet/complete", merge(ref, object{"commit": "9be04d1a"})).want(200)
	w.as(ada, "POST", "/fleet/delivery", merge(ref, object{"state": "refused", "branch": "b", "commit": "9be04d1a", "detail": "no"})).want(200)
	e := w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200)
	if e.count("reasons") != 2 || e.text("reasons", 0, "code") != "completed" || e.text("reasons", 1, "code") != "delivery_refused" {
		t.Errorf("it says %s", e.raw)
	}
}
