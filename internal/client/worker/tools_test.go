package worker

import (
	"log/slog"
	"os"
	"testing"
)

// Sockets that a killed worker left are removed by the next one with its state, those of other
// workers are not.
func TestSocketsOfAKilledWorkerAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	killed, other := stateAt("/state/one"), stateAt("/state/two")
	for _, w := range []*Worker{killed, killed, other} {
		if _, _, err := (&attempt{w: w, reporter: &reporter{}}).serveTools(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stateAt("/state/one").clearSockets()
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) != 1 {
		t.Errorf("%d are left, %v", len(left), err)
	}
}

func stateAt(dir string) *Worker {
	return &Worker{Options: Options{State: dir, Program: "fleet", Log: slog.New(slog.DiscardHandler)}}
}
