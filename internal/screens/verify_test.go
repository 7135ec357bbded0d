package screens_test

import (
	"encoding/json"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// named registers another agent of the same factory.
func (w *testWorkspace) named(name string) tenancy.Principal {
	w.t.Helper()
	if _, err := w.dispatch.Register(w.t.Context(), dbfactory.Enrolment(w.who.Workspace), fleet.Registration{Agent: name, BootID: "b",
		MaxConcurrentJobs: 10, Factory: fleet.FactoryInfo{Name: "linux-2", OS: "linux", Seats: 10}}); err != nil {
		w.t.Fatal(err)
	}
	return w.last
}

// The card of work changes with its verification, and so does what waits for a person: nobody may verify,
// somebody may, somebody does, a verdict.
func TestWhoWatchesSeesAVerificationGoOn(t *testing.T) {
	w := setup(t)
	review := true
	if _, _, err := w.jobs.PutProduct(t.Context(), w.who, "default", jobs.ProductSettings{ReviewRequired: review,
		Verify: jobs.Verify{Mode: jobs.VerifyByAgent}}); err != nil {
		t.Fatal(err)
	}
	ada := w.agent()
	place, err := w.Cursor(t.Context(), w.who)
	if err != nil {
		t.Fatal(err)
	}
	updates, err := w.Watch(t.Context(), w.who, place)
	if err != nil {
		t.Fatal(err)
	}
	want := func(state screens.VerificationState, reviews int) {
		t.Helper()
		seen, counted := false, false
		next(t, updates, func(u *screens.Update) bool {
			cards := u.Cards
			for _, p := range u.Touched {
				cards = append(cards, p.Cards...)
			}
			for _, c := range cards {
				seen = seen || c.Job.Key == "FB-1" && c.Verified != nil && c.Verified.State == state
			}
			counted = counted || reviews < 0 || u.Needs != nil && u.Needs.Reviews.Jobs == reviews
			return seen && counted
		})
	}
	w.job(jobs.New{Spec: jobs.Spec{Title: "work"}})
	w.handInClaimed(ada, report.Completion{Commit: "abc1234"})
	want(screens.VerificationNobody, 1)
	bob := w.named("bob")
	want(screens.VerificationWaits, 0)
	got, err := w.dispatch.Claim(t.Context(), bob, claim.Request{})
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].Kind != jobs.KindVerify {
		t.Fatalf("bob got %+v, %v", got.Jobs, err)
	}
	want(screens.VerificationWorks, -1)
	held := lease.Ref{Job: got.Jobs[0].Key, Epoch: got.Jobs[0].Epoch}
	said := report.Completion{Result: json.RawMessage(`{"verdict": "approve", "criteria": [], "findings": []}`)}
	if _, err := w.dispatch.Complete(t.Context(), bob, held, said); err != nil {
		t.Fatal(err)
	}
	want(screens.VerificationSaid, 1)
}

// handInClaimed has an agent claim a job and hand it in.
func (w *testWorkspace) handInClaimed(agent tenancy.Principal, c report.Completion) {
	w.t.Helper()
	got, err := w.dispatch.Claim(w.t.Context(), agent, claim.Request{})
	if err != nil || len(got.Jobs) != 1 {
		w.t.Fatal(got, err)
	}
	if _, err := w.dispatch.Complete(w.t.Context(), agent, lease.Ref{Job: got.Jobs[0].Key, Epoch: got.Jobs[0].Epoch}, c); err != nil {
		w.t.Fatal(err)
	}
}
