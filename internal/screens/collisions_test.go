package screens_test

import (
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
)

// A card has one path of a collision and how many more there are, the page of the job all that are
// kept: a board reads as little however many files its jobs touch.
func TestACardHasOnePathOfACollision(t *testing.T) {
	w := setup(t)
	agent := w.agent()
	w.job(jobs.New{Spec: jobs.Spec{Title: "one"}})
	w.job(jobs.New{Spec: jobs.Spec{Title: "two"}})
	got, err := w.dispatch.Claim(t.Context(), agent, claim.Request{Max: 2})
	if err != nil || len(got.Jobs) != 2 {
		t.Fatalf("%d jobs, %v", len(got.Jobs), err)
	}
	dbfactory.Exec(t, w.db, "UPDATE job SET repo = 'atlas'")
	files := make([]string, 60)
	for i := range files {
		files[i] = fmt.Sprintf("file-%02d", i)
	}
	for _, j := range got.Jobs {
		if _, err := w.dispatch.Progress(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Progress{Files: files}); err != nil {
			t.Fatal(err)
		}
	}
	cards := column(w.board(screens.Filter{}), screens.Running).Cards
	if len(cards) != 2 || len(cards[0].Collisions) != 1 {
		t.Fatalf("the cards are %+v", cards)
	}
	if c := cards[0].Collisions[0]; len(c.Paths) != 1 || c.Paths[0] != files[0] || c.More != 59 {
		t.Errorf("a card has %v and %d more", c.Paths, c.More)
	}
	page, err := w.Collisions(t.Context(), w.who, got.Jobs[0].Key)
	if err != nil || len(page.List[0].Paths) != 50 || page.List[0].More != 10 {
		t.Errorf("the job has %+v, %v", page.List, err)
	}
}
