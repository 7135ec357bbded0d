package ledger

import (
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/envtest"
)

const (
	// defaultLives is how many random lives one run drives; FLEETBOARD_LEDGER_LIVES says
	// otherwise.
	defaultLives = 200
	// together is how many of them share a database.
	together = 25
)

// Whatever people, agents and clocks do in whatever order: each period stands as the model
// says, as its ledger says, and what it has reserved is what leases hold that last; a hard
// budget gives nothing that it has not; every lease ends; the audit finds nothing.
// FLEETBOARD_LEDGER_SEED is the first life's.
func TestLivesOfTheLedger(t *testing.T) {
	lives, first := envtest.Number[uint64](t, "FLEETBOARD_LEDGER_LIVES", defaultLives), envtest.Number[uint64](t, "FLEETBOARD_LEDGER_SEED", 1)
	t.Logf("%d lives from the seed %d", lives, first)
	for seed := first; seed < first+lives; seed += together {
		t.Run(fmt.Sprint("from_", seed), func(t *testing.T) {
			w := newServices(t)
			for n := seed; n < min(seed+together, first+lives); n++ {
				t.Run(fmt.Sprint("seed_", n), func(t *testing.T) {
					l := w.newLife(t, n)
					l.compare()
					for range 10 + l.r.IntN(40) {
						l.next()
					}
					l.over()
				})
				if t.Failed() {
					return
				}
			}
			w.isClean(t)
		})
	}
}
