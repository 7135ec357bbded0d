package life

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
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
	{"a new boot keeps the old one's leases", "internal/dispatch/enrol/register.go", "case old.boot == r.in.BootID:", "case true:", lives(4000)},
	{"no scope check on the same boot", "internal/dispatch/enrol/register.go", "return !lease.InScope(r.who.Scope, j)", "return false", lives(8000)},
	{"only a completion may be repeated", "internal/dispatch/lease/conflict.go", "return a.endedBy(who) &&", "return a.outcome == Completed &&", lives(4000)},
	{"long contents are left out of events", "internal/eventlog/content.go", "e.Contents = append(e.Contents, Content{SHA256: sum, Body: string(raw)})", "", lives(40)},
}

func TestMutantsAreFound(t *testing.T) {
	list := mutants[3:]
	if os.Getenv("FLEETBOARD_LIFE_SEQUENCES") != "" {
		list = mutants
	}
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) {
			if !m.isFoundIn(t, overlay(t, m.file, m.old, m.new)) {
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
// tell what is stored.
func lives(sequences int) func(t *testing.T, overlay string) bool {
	return func(t *testing.T, overlay string) bool { return live(t, overlay, sequences) }
}

func live(t *testing.T, overlay string, sequences int) bool {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "life.test")
	compile(t, "test", "-c", "-o", binary, "-overlay", overlay, "fleetboard/e2e/life")
	cmd := exec.Command(binary, "-test.run=^TestWholeLives$", "-rapid.shrinktime=0s") //nolint:noctx // the test's own time-out ends it
	cmd.Env = append(os.Environ(), fmt.Sprintf("FLEETBOARD_LIFE_SEQUENCES=%d", sequences))
	out, err := cmd.CombinedOutput()
	found := err != nil && strings.Contains(string(out), trail)
	if err != nil && !found {
		t.Fatalf("the sequences ended for another reason: %v\n%s", err, out)
	}
	if found {
		_, calls, _ := strings.Cut(string(out), trail)
		t.Logf("found %s%.2000s", trail, calls)
	}
	return found
}

// overlay writes the changed file and the list that tells the compiler of it.
func overlay(t *testing.T, file, old, replacement string) string {
	t.Helper()
	original, err := filepath.Abs(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(source), old, replacement, 1)
	if changed == string(source) {
		t.Fatalf("%s has not what was to be taken out of it", file)
	}
	dir := t.TempDir()
	copied := filepath.Join(dir, filepath.Base(file))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: copied}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{copied: []byte(changed), filepath.Join(dir, "overlay.json"): list} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "overlay.json")
}
