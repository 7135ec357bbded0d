package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// Jobs of a product that serialises by path wait for those that may touch the same, and say so;
// the setting that this took the place of is still read and written.
func TestProductsSerialiseByPath(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	put := func(settings object) answer {
		t.Helper()
		settings["repos"] = []string{"ledger-api"}
		return w.as(w.owner, "PUT", "/products/ledger", settings)
	}
	for _, c := range []struct {
		in        object
		serialise string
		one       bool
	}{
		{object{}, "none", false}, {object{"one_job_per_repo": true}, "repo", true}, {object{"one_job_per_repo": false}, "none", false},
		{object{"serialise": "repo"}, "repo", true}, {object{"serialise": "repo", "one_job_per_repo": true}, "repo", true},
		{object{"serialise": "paths", "one_job_per_repo": false}, "paths", false}, {object{"serialise": "none"}, "none", false},
		{object{"serialise": "paths"}, "paths", false},
	} {
		saved := put(c.in)
		if saved.text("serialise") != c.serialise || saved.at("one_job_per_repo") != c.one {
			t.Errorf("%v: %s", c.in, saved.raw)
		}
	}
	put(object{"serialise": "none", "one_job_per_repo": true}).want(422).refused(fault.Validation, "one_job_per_repo")
	put(object{"serialise": "repo", "one_job_per_repo": false}).want(422).refused(fault.Validation, "one_job_per_repo")
	put(object{"serialise": "file"}).want(422)

	first := w.as(w.owner, "POST", "/jobs", object{"title": "a", "repo": "ledger-api", "files": []string{"internal/db"}}).want(201)
	apart := w.as(w.owner, "POST", "/jobs", object{"title": "b", "repo": "ledger-api", "files": []string{"docs/*.md"}}).want(201)
	waits := w.as(w.owner, "POST", "/jobs", object{"title": "c", "repo": "ledger-api", "files": []string{"internal/**/store.go", "cmd"}}).want(201)
	if first.text("status") != "ready" || apart.text("status") != "ready" || waits.text("wait_reason") != "paths_busy" {
		t.Fatalf("%s %s %s", first.raw, apart.raw, waits.raw)
	}
	why := w.as(w.owner, "GET", "/jobs/"+waits.text("key")+"/explanation", nil).want(200)
	if why.text("reasons", 0, "code") != "paths_busy" || why.text("reasons", 0, "job") != first.text("key") ||
		why.text("reasons", 0, "paths", 0) != "internal/db/store.go" || why.count("reasons", 0, "paths") != 1 {
		t.Errorf("explanation: %s", why.raw)
	}
	if j := w.as(w.owner, "POST", "/jobs", object{"title": "d", "repo": "ledger-api"}).want(201); j.text("wait_reason") != "paths_busy" {
		t.Errorf("a job without files: %s", j.raw)
	}
	w.as(w.owner, "POST", "/jobs/"+first.text("key")+"/cancel", object{"reason": "x"}).want(200)
	if j := w.as(w.owner, "GET", "/jobs/"+waits.text("key"), nil).want(200); j.text("status") != "ready" {
		t.Errorf("once the paths are free: %s", j.raw)
	}
	w.as(w.owner, "POST", "/jobs", object{"title": "e", "files": []string{strings.Repeat("*a", 33)}}).want(422).refused(fault.Validation, "files[0]")
}

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
