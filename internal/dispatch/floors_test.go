package dispatch_test

import (
	"testing"

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
