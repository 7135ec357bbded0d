package statuspage_test

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// What the database lacks is on Status and in Needs you, until an owner or admin says that it is known.
func TestALossIsShownUntilItIsKnown(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/status"), http.StatusOK), "#proofs", 0)
	dbfactory.Exec(t, d.DB, `INSERT INTO log_loss (workspace_id, noticed_by, events, event_count, first_event, last_event)
		SELECT id, 'mac-1/17/abc', '[{"ID": 1201, "At": "2026-03-01T12:00:00Z", "Type": "job.created", "Key": "FB-<12>"}]', 3, 1201, 1203 FROM workspace`)
	dbfactory.Exec(t, d.DB, `INSERT INTO database_proof (kind, system, timeline, done_at, workspaces, jobs, found) VALUES
		('promoted', '1', 2, now(), 2, 1204, 0), ('moved', '2', 1, now(), 1, 1, 3), ('promoted', '2', 2, NULL, 0, 0, 0)`)
	loss := "3 events that were written are missing, positions 1201 to 1203, of FB-<12> and others."
	doc := handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
	handlertest.WantText(t, doc, "#needs-panel", loss)
	handlertest.WantText(t, doc, "#needs-count", "1 loss of the database")
	doc = handlertest.Page(t, d.Get("/status"), http.StatusOK)
	for _, text := range []string{loss, "The rows of 1,204 jobs of 2 workspaces agree", "3 things are wrong among 1 job of 1 workspace",
		"Audit and verify-log are looking at everything"} {
		handlertest.WantText(t, doc, "#proofs", text)
	}
	member := d.As(tenancy.RoleMember)
	handlertest.WantCount(t, handlertest.Page(t, member.Get("/needs-you"), http.StatusOK), "form[action='/status/losses/note']", 0)
	handlertest.Read(t, member.Post("/status/losses/note", nil), http.StatusForbidden)

	handlertest.WantRedirect(t, d.Post("/status/losses/note", nil), "/status")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/needs-you"), http.StatusOK), "#needs-panel", "Nothing needs you")
	doc = handlertest.Page(t, d.Get("/status"), http.StatusOK)
	handlertest.WantText(t, doc, "#proofs", "Loss, noted")
	handlertest.WantCount(t, doc, "form[action='/status/losses/note']", 0)
}
