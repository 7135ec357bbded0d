package repositories

import (
	"os"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// The programs, built by TestMain.
var serverBinary, fleetBinary string

func TestMain(m *testing.M) {
	os.Exit(processtest.Run(m, &serverBinary, &fleetBinary))
}
