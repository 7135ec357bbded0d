package eventlog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The schema and the program name the same facts. A new one is a constant and a
// line in a migration after 00038: SELECT add_event_types('job.purged').
func TestTheSchemaKnowsTheSameFacts(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	known := strings.Fields(dbfactory.Text(t, d, `SELECT string_agg(m[1], ' ' ORDER BY m[1] COLLATE "C") FROM pg_constraint c,
		regexp_matches(pg_get_constraintdef(c.oid), '''([^'']*)''', 'g') m WHERE c.conname = 'event_type_known'`))
	var named []string
	for _, kind := range eventlog.Types {
		named = append(named, string(kind))
	}
	slices.Sort(named)
	if diff := cmp.Diff(named, known); diff != "" {
		t.Errorf("constants and event_type_known (-constants +schema):\n%s", diff)
	}
	workspace := dbfactory.Workspace(t, d)
	err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
		return eventlog.AppendTx(t.Context(), tx, workspace, eventlog.Event{Type: "job.invented", Actor: tenancy.Actor{Kind: tenancy.KindSystem, Name: "test"}})
	})
	if err == nil || !strings.Contains(err.Error(), "event_type_known") {
		t.Errorf("a fact that nobody knows: %v", err)
	}
}
