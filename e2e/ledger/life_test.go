package ledger

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

const (
	// defaultLives is how many random lives one run drives; FLEETBOARD_LEDGER_LIVES says
	// otherwise.
	defaultLives = 200
	// together is how many of them share a database.
	together = 25
)

// setting returns a number that an environment variable says.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Whatever people, agents and clocks do in whatever order: each period stands as the model
// says, as its ledger says, and what it has reserved is what leases hold that last; a hard
// budget gives nothing that it has not; every lease ends; the audit finds nothing.
// FLEETBOARD_LEDGER_SEED is the first life's.
func TestLivesOfTheLedger(t *testing.T) {
	lives, first := setting(t, "FLEETBOARD_LEDGER_LIVES", defaultLives), setting(t, "FLEETBOARD_LEDGER_SEED", 1)
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
