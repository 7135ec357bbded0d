package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestProductsAreMadeAndChanged(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	made := w.as(w.owner, "PUT", "/products/ledger", object{"repos": []string{"ledger-api"}, "one_job_per_repo": true, "review_limit": 3}).want(201)
	if made.text("name") != "ledger" || made.text("repos", 0) != "ledger-api" || made.at("one_job_per_repo") != true || made.number("review_limit") != 3 {
		t.Errorf("made: %s", made.raw)
	}
	if j := w.as(w.owner, "POST", "/jobs", object{"title": "a", "repo": "ledger-api"}).want(201); j.text("product") != "ledger" || j.text("status") != "ready" {
		t.Errorf("a job of its repo: %s", j.raw)
	}
	second := w.as(w.owner, "POST", "/jobs", object{"title": "b", "repo": "ledger-api"}).want(201)
	if second.text("wait_reason") != "repo_busy" {
		t.Errorf("a second job of its repo: %s", second.raw)
	}
	w.as(w.owner, "PUT", "/products/ledger", object{"name": "ledger", "repos": []string{"ledger-api"}}).want(200)
	if j := w.as(w.owner, "GET", "/jobs/"+second.text("key"), nil).want(200); j.text("status") != "ready" {
		t.Errorf("allowed again: %s", j.raw)
	}
	read := w.as(w.owner, "GET", "/products/ledger", nil).want(200)
	if read.at("review_limit") != nil || read.at("one_job_per_repo") != false {
		t.Errorf("read: %s", read.raw)
	}
	if list := w.as(w.owner, "GET", "/products", nil).want(200); list.count("items") != 2 || list.text("items", 1, "name") != "ledger" {
		t.Errorf("list: %s", list.raw)
	}

	taken := w.as(w.owner, "PUT", "/products/web", object{"repos": []string{"web", "ledger-api"}}).want(422).refused(fault.Validation, "repos[1]")
	if !strings.Contains(string(taken.raw), "ledger") {
		t.Errorf("the owner is not named: %s", taken.raw)
	}
	w.as(w.owner, "PUT", "/products/web", object{"name": "other"}).want(422).refused(fault.Validation, "name")
	w.as(w.owner, "PUT", "/products/web", object{"review_limit": 0}).want(422).refused(fault.Validation, "review_limit")
	w.as(w.owner, "GET", "/products/web", nil).want(404).refused(fault.NotFound)

	w.as(w.owner, "PUT", "/products/empty", object{}).want(201)
	w.as(w.owner, "DELETE", "/products/empty", nil).want(204)
	w.as(w.owner, "DELETE", "/products/empty", nil).want(404).refused(fault.NotFound)
	w.as(w.owner, "DELETE", "/products/ledger", nil).want(409).refused(fault.InUse)
	w.as(w.owner, "DELETE", "/products/default", nil).want(409).refused(fault.InUse)
	w.as(w.agent("ada"), "PUT", "/products/web", object{}).want(403).refused(fault.Forbidden)
}
