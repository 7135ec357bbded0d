package dispatch_test

import (
	"testing"

	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
)

// From its floor on a lane gives its jobs in their order, and from the top where
// nothing is left there: a floor hides no job from who asks for any.
func TestClaimsGoOnFromTheFloor(t *testing.T) {
	w := newWorld(t)
	urgent := func(p int) func(*jobs.New) { return func(n *jobs.New) { n.Priority = &p } }
	w.job("urgent", urgent(9))
	from := w.job("from here", urgent(5))
	w.job("beside it", urgent(5))
	w.job("later", urgent(1))
	agent := w.agent("claude-1")
	w.dispatch.LookFrom(w.workspace, from)
	for _, want := range []string{"from here", "beside it", "later", "urgent"} {
		if got := w.claim(agent); got.Title != want {
			t.Errorf("%q is given; want %q", got.Title, want)
		}
	}
}

// A claim of several gets those above the floor too, after those below it.
func TestAClaimOfManyIsNotCutAtTheFloor(t *testing.T) {
	w := newWorld(t)
	nine := 9
	w.job("urgent", func(n *jobs.New) { n.Priority = &nine })
	w.dispatch.LookFrom(w.workspace, w.job("from here"))
	got, err := w.dispatch.Claim(w.ctx, w.agent("claude-1"), dispatch.ClaimRequest{Max: 5})
	if err != nil || len(got.Jobs) != 2 {
		t.Errorf("%d jobs, %v; want both", len(got.Jobs), err)
	}
}
