package job

import (
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// FindUndo returns what a toast offers after an act on a job, nil where it cannot be undone: a
// lease that was taken does not come back.
func FindUndo(by jobs.Trigger, after jobs.Job) *ui.Undo {
	asked := after.Lease != nil && by == jobs.ByPause
	if !asked && (after.Lease != nil || !by.Undoable()) {
		return nil
	}
	return &ui.Undo{URL: links.JobUndo(after.Key), Version: after.Version, About: "card-" + ui.DOMID(after.Key)}
}

// NotUndone says why an act was not undone.
func NotUndone(now jobs.Job, err error) ui.Toast {
	t := ui.Toast{Tone: ui.Warn, Title: now.Key + " was not undone", Text: fault.From(err).Message}
	if !fault.Is(err, fault.VersionConflict) {
		return t
	}
	t.Title = now.Key + " has moved on"
	if now.Lease != nil {
		t.Text = Holder(now) + " claimed it. Nothing was undone."
	} else {
		t.Text = "It is " + strings.ToLower(now.Status.Word()) + " now. Nothing was undone."
	}
	return t
}
