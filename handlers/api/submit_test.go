package api_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// An agent creates a job by the call that people use: where its enrolment token lets
// it, and naming the lease that it works under, which people may not.
func TestAgentsCreateJobs(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	plain, err := w.accounts.Tokens.Issue(t.Context(), w.person(), tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "finders", MaySubmit: true})
	if err != nil {
		t.Fatal(err)
	}
	w.job("work", object{"priority": 9})
	ada, bob := w.registerWith(plain, "ada", "boot-1").want(200).text("token"), w.agent("bob")
	held := w.claim(ada)
	found := object{"title": "Flaky test", "discovered_from": object{"job": held["job"], "epoch": held["epoch"]}}
	made := w.as(ada, "POST", "/jobs", found, "Idempotency-Key", "k").want(201)
	w.as(ada, "POST", "/jobs", found, "Idempotency-Key", "k").want(200)
	if by := made.text("created_by"); by != "ada" {
		t.Errorf("created by %s", by)
	}
	w.as(ada, "POST", "/jobs", object{"title": "Without a lease"}).want(422).refused(fault.Validation, "discovered_from")
	w.as(bob, "POST", "/jobs", found).want(403).refused(fault.Forbidden)
	w.as(ada, "POST", "/jobs/batch", object{"jobs": []object{found}}).want(403).refused(fault.Forbidden)
	w.as(w.owner, "POST", "/jobs", found).want(422).refused(fault.Validation, "discovered_from")
	w.as(w.owner, "POST", "/jobs/batch", object{"jobs": []object{found}}).want(422).refused(fault.Validation, "jobs[0].discovered_from")
	w.as(ada, "POST", "/fleet/complete", held).want(200)
	w.as(ada, "POST", "/jobs", found).want(409)
}

// What an agent files has less of everything than the job at work, and agents raise none of
// it later: they change no job, link none, and make no lists.
func TestAgentsFileLessThanTheyHave(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	plain, err := w.accounts.Tokens.Issue(t.Context(), w.person(), tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "finders", MaySubmit: true})
	if err != nil {
		t.Fatal(err)
	}
	work := w.job("work", object{"priority": 4, "budget_usd": "2.5"})
	ada := w.registerWith(plain, "ada", "boot-1").want(200).text("token")
	held := w.claim(ada)
	found := object{"title": "Found", "discovered_from": object{"job": held["job"], "epoch": held["epoch"]}}
	made := w.as(ada, "POST", "/jobs", found).want(201)
	if made.number("priority") != 4 || made.text("budget_usd") != "2.500000000" {
		t.Errorf("it has priority %d and may spend %v", made.number("priority"), made.at("budget_usd"))
	}
	for field, over := range map[string]object{
		"priority":   {"priority": 5},
		"factory":    {"factory": "ada-host"},
		"budget_usd": {"budget_usd": "2.500000001"},
	} {
		w.as(ada, "POST", "/jobs", merge(found, over)).want(422).refused(fault.Validation, field)
	}
	key := made.text("key")
	w.as(ada, "PATCH", "/jobs/"+key, object{"version": made.number("version"), "priority": 10}).want(403).refused(fault.Forbidden)
	for _, kind := range []string{"blocks", "parent", "discovered_from"} {
		w.as(ada, "POST", "/jobs/"+key+"/dependencies", object{"depends_on": work, "type": kind}).want(403).refused(fault.Forbidden)
	}
	w.as(ada, "DELETE", "/jobs/"+key+"/dependencies/"+work, nil).want(403).refused(fault.Forbidden)
	list := make([]object, 100)
	for i := range list {
		list[i] = found
	}
	w.as(ada, "POST", "/jobs/batch", object{"jobs": list}).want(403).refused(fault.Forbidden)
	if n := w.as(w.owner, "GET", "/jobs", nil).want(200).count("items"); n != 2 {
		t.Errorf("there are %d jobs; want 2", n)
	}
	// Fifty are open below the job: the next one has to wait.
	dbfactory.Exec(t, w.db, `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by, root_id, depth)
		SELECT workspace_id, gen_random_uuid(), 'X-' || n, 'open', product_id, lane_id, 'blocked', 'ada', id, 1
		FROM job, generate_series(1, 49) n WHERE key = $1`, work)
	full := w.as(ada, "POST", "/jobs", found).want(429).refused(fault.TooMany)
	if full.header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After is %q", full.header.Get("Retry-After"))
	}
}
