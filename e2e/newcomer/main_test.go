package newcomer

import (
	"os"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// The programs, built by TestMain.
var serverBinary, fleetBinary string

func TestMain(m *testing.M) {
	os.Exit(processtest.Run(m, &serverBinary, &fleetBinary))
}

// patience is how long a test waits for what must happen; it does not say how fast it is.
const patience = 2 * time.Minute

// firstPort is the first port that servers of these tests may get.
const firstPort = 25000

// until waits until something is so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	processtest.Until(t, patience, what, so)
}
