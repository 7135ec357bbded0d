package handlertest

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
)

// Leads writes down that somebody coordinates, or did.
func Leads(t *testing.T, d *Workspace, lease, lastCycle string) {
	t.Helper()
	dbfactory.Leadership(t, d.DB, lease, lastCycle)
}
