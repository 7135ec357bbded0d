package e2e

import (
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// Approve, reject, cancel, archive and a move are undone by the button of their toast,
// or its key; the job is what it was before.
func TestActsAreUndone(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-1")
	submitForReview(t, s, api.NewJob{Title: "Reviewed"})
	handIn(t, agent, "9be04d1f00")
	s.submit("Moved", "Cancelled")
	v := s.visit(desktop)
	v.logIn()
	is := func(key, status string) {
		t.Helper()
		eventually(t, key+" "+status, func() bool { return string(s.job(key).Status) == status })
	}
	undo := `#toasts [data-undo] button`

	v.open("/review?job=FB-1")
	v.live()
	v.key("a")
	v.sees(`#toasts:has-text("FB-1 approved")`)
	v.click(undo)
	v.sees(`#toasts:has-text("FB-1 is in review again")`)
	is("FB-1", "in_review")
	v.sees("#do-reject")
	v.click("#do-reject")
	v.fill("#why-reject", "Measure it.")
	v.click("#dlg-reject button[type=submit]")
	v.sees(`#toasts:has-text("FB-1 was sent back")`)
	v.key("z")
	v.sees(`#toasts:has-text("FB-1 is in review again")`)
	is("FB-1", "in_review")

	v.open("/board")
	v.live()
	v.drag(card("FB-2", "ready"), "#col-waiting")
	v.sees(`#toasts:has-text("FB-2 is in Waiting")`)
	v.click(undo)
	v.settled("FB-2", "ready")
	v.drag(card("FB-3", "ready"), "#col-failed")
	v.click(`#dlg-cancel button:has-text("Cancel job")`)
	v.sees(`#toasts:has-text("FB-3 cancelled")`)
	v.settled("FB-3", "failed")
	v.click(undo)
	v.settled("FB-3", "ready")

	v.open("/jobs/FB-3")
	v.live()
	v.click("#job-more")
	v.click(`#job-menu button:has-text("Cancel job")`)
	v.click(`#dlg-cancel button:has-text("Cancel job")`)
	v.sees(`#toasts:has-text("FB-3 cancelled")`)
	v.click("#job-more")
	v.click(`#job-menu button:has-text("Archive")`)
	v.sees(`#toasts:has-text("FB-3 archived")`)
	v.click(undo)
	is("FB-3", "aborted")
}

// What an agent has claimed since is not undone, and the page says so.
func TestUndoIsRefusedAfterAClaim(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Contested")
	v := s.visit(desktop)
	v.logIn()
	v.live()
	v.drag(card("FB-1", "ready"), "#col-waiting")
	v.sees(`#toasts:has-text("FB-1 is in Waiting")`)
	v.drag(card("FB-1", "waiting"), "#col-ready")
	v.sees(`#toasts:has-text("FB-1 is in Ready")`)
	v.must("rest on the toast", v.tab.Locator("#toasts [data-undo] button").Hover())
	agent := s.agent("claude-1")
	claim(t, agent)
	v.click(`#toasts [data-undo] button`)
	v.sees(`#toasts:has-text("claude-1 claimed it. Nothing was undone.")`)
}
