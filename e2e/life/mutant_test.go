package life

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fleetboard/fleetboard/e2e/mutanttest"
)

// mutants are servers without one of their promises. Each has to be found out:
// a check that no server fails checks nothing. The first ones are long known, and
// are looked for where FLEETBOARD_LIFE_SEQUENCES is set (make soak). The third one
// takes many lives; TestRotatingTokens in internal/dispatch finds it in a second.
var mutants = []struct {
	name      string
	file      string // from the project's root
	old, new  string // the text that is taken out of it, and what stands there instead
	isFoundIn func(t *testing.T, overlay string) bool
}{
	{"no epoch check", "internal/dispatch/lease/lease.go", "l.Epoch == epoch && ", "", histories},
	{"a new boot keeps the old one's leases", "internal/dispatch/enrol/register.go", "case old.BootID == r.in.BootID:", "case true:", lives(4000)},
	{"no scope check on the same boot", "internal/dispatch/enrol/register.go", "return !lease.InScope(r.who.Scope, j)", "return false", lives(8000)},
	{"only a completion may be repeated", "internal/dispatch/lease/conflict.go", "return a.endedBy(who) &&", "return a.outcome == Completed &&", lives(4000)},
	{"long contents are left out of events", "internal/eventlog/content.go", "e.Contents = append(e.Contents, Content{SHA256: sum, Body: string(raw)})", "", lives(40)},
}

func TestMutantsAreFound(t *testing.T) {
	for i, m := range mutants {
		overlay := mutanttest.Overlay(t, m.file, m.old, m.new) // all can be made, also where few are looked for
		if i < 3 && os.Getenv("FLEETBOARD_LIFE_SEQUENCES") == "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			if !m.isFoundIn(t, overlay) {
				t.Fatal("it looks like a server that keeps its promises")
			}
		})
	}
}

// histories finds a mutant by what clients with breaking connections see.
func histories(t *testing.T, overlay string) bool {
	server := run(t, build(t, overlay))
	for round := range 20 {
		r := record(t, server, uint64(round))
		if result, _ := porcupine.CheckOperationsVerbose(specification, r.history, 30*time.Second); result == porcupine.Illegal {
			t.Logf("found in round %d", round)
			return true
		}
	}
	return false
}

// lives finds a mutant by TestWholeLives with some sequences, which has to end with
// calls after which something is not as the model says, or with a log that does not
// give what is stored.
func lives(sequences int) func(t *testing.T, overlay string) bool {
	return func(t *testing.T, overlay string) bool { return live(t, overlay, sequences) }
}

func live(t *testing.T, overlay string, sequences int) bool {
	t.Helper()
	return mutanttest.Hunt{Package: "github.com/fleetboard/fleetboard/e2e/life", Test: "TestWholeLives", Flags: []string{"-rapid.shrinktime=0s"},
		Env: []string{fmt.Sprintf("FLEETBOARD_LIFE_SEQUENCES=%d", sequences)}, Trail: trail}.Finds(t, overlay)
}
