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
