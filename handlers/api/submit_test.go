package api_test

import (
	"testing"

	"fleetboard/internal/accounts/tokens"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
)

// An agent creates a job by the call that people use: where its enrolment token lets
// it, and naming the lease that it works under, which people may not.
func TestAgentsCreateJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
