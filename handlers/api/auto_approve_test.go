package api_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// A product says within which limits its work is approved without a person; it is off, and what is odd is
// refused with its field.
func TestProductsHaveLimitsOfThePolicy(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	auto := func(settings object) object {
		return object{"verify": object{"mode": "agent"}, "auto_approve": settings}
	}
	made := w.as(w.owner, "PUT", "/products/ledger", object{}).want(201)
	if made.at("auto_approve", "enabled") != false || made.number("auto_approve", "max_lines") != 50 || made.number("auto_approve", "max_files") != 5 ||
		made.at("auto_approve", "require_verdict") != true || made.count("auto_approve", "deny_paths") < 10 {
		t.Errorf("a new one: %s", made.raw)
	}
	saved := w.as(w.owner, "PUT", "/products/ledger", auto(object{"enabled": true, "max_lines": 500, "max_files": 50,
		"deny_paths": []string{"infra", "*.sql"}})).want(200)
	if saved.at("auto_approve", "enabled") != true || saved.text("auto_approve", "deny_paths", 0) != "*.sql" || saved.count("auto_approve", "deny_paths") != 2 {
		t.Errorf("saved: %s", saved.raw)
	}
	if none := w.as(w.owner, "PUT", "/products/ledger", auto(object{"deny_paths": []string{}})).want(200); none.count("auto_approve", "deny_paths") != 0 {
		t.Errorf("without denied paths: %s", none.raw)
	}
	for field, in := range map[string]object{
		"auto_approve.max_lines": auto(object{"max_lines": 501}), "auto_approve.max_files": auto(object{"max_files": 0}),
		"auto_approve.deny_paths[1]":   auto(object{"deny_paths": []string{"a", "b["}}),
		"auto_approve.require_verdict": {"auto_approve": object{"enabled": true}},
	} {
		w.as(w.owner, "PUT", "/products/ledger", in).want(422).refused(fault.Validation, field)
	}
	w.as(w.owner, "PUT", "/products/ledger", auto(object{"max_line": 3})).want(400)
	w.as(w.owner, "PUT", "/products/ledger", object{"auto_approve": object{"enabled": true, "require_verdict": false}}).want(200)
	log := w.as(w.owner, "GET", "/events?type=product.saved", nil).want(200)
	if log.count("items") != 4 {
		t.Errorf("the log has %d changes: %s", log.count("items"), log.raw)
	}
}

// A preview says what would have passed, with the product's limits or others, and what holds the rest.
func TestThePolicyIsPreviewed(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, _ := w.verified(object{"verify": object{"mode": "off"}})
	patch := func(path string) string {
		return "diff --git a/" + path + " b/" + path + "\nindex 1..2 100644\n--- a/" + path + "\n+++ b/" + path + "\n@@ -1 +1 @@\n-a\n+b\n"
	}
	for _, path := range []string{"a.go", "infra/x", "b.go"} {
		w.job("Work", object{"repo": "atlas"})
		w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), object{"commit": "0123456789012345678901234567890123456789",
			"result": object{"diff": patch(path), "check: make": true}})).want(200)
	}
	w.as(w.owner, "POST", "/jobs/FB-3/reject", object{"reason": "Not so."}).want(200)
	at := "/products/books/auto_approve/preview"
	if a := w.as(w.owner, "GET", at, nil).want(200); a.number("reviewed") != 3 || a.number("passed") != 0 || a.text("held", 1, "limit") != "verdict" || a.number("held", 1, "count") != 3 {
		t.Errorf("without a verdict: %s", a.raw)
	}
	a := w.as(w.owner, "GET", at+"?require_verdict=false", nil).want(200)
	if a.number("passed") != 2 || a.number("rejected") != 1 || a.text("items", 0, "job") != "FB-3" || a.text("items", 0, "decided") != "rejected" ||
		a.text("items", 2, "job") != "FB-2" || a.text("items", 2, "reason") != "It touches infra/x, which infra denies." || a.number("held", 0, "alone") != 1 {
		t.Errorf("by the author's word: %s", a.raw)
	}
	if a := w.as(w.owner, "GET", at+"?require_verdict=false&deny_paths=*.go", nil).want(200); a.number("passed") != 1 {
		t.Errorf("with other paths: %s", a.raw)
	}
	if a := w.as(w.owner, "GET", at+"?require_verdict=false&max_lines=1", nil).want(200); a.number("passed") != 0 {
		t.Errorf("with fewer lines: %s", a.raw)
	}
	w.as(w.owner, "GET", at+"?deny_paths=!x", nil).want(422).refused(fault.Validation, "auto_approve.deny_paths[0]")
	w.as(w.owner, "GET", "/products/none/auto_approve/preview", nil).want(404)
	w.as(ada, "GET", at, nil).want(403)
}
