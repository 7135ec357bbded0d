package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// StateAt returns a job as its log says it was at a time. workspace is a slug; ""
// will do where one workspace alone has a job of that key.
func StateAt(ctx context.Context, d *db.DB, workspace, key string, at time.Time) (jobs.State, error) {
	workspaces, err := allWorkspaces(ctx, d)
	if err != nil {
		return jobs.State{}, err
	}
	var found []jobs.State
	for _, w := range workspaces {
		if workspace != "" && w.Slug != workspace {
			continue
		}
		err := d.In(ctx, db.Workspace(w.ID), func(tx db.Tx) error {
			job, known, err := jobTx(ctx, tx, w.ID, key)
			if err != nil || !known {
				return err
			}
			h, known, err := historyTx(ctx, tx, w.ID, job)
			if err != nil || !known {
				return err
			}
			state, err := until(ctx, tx, w, h, at)
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			found = append(found, state)
			return nil
		}, db.Thorough)
		if err != nil {
			return jobs.State{}, err
		}
	}
	switch len(found) {
	case 0:
		return jobs.State{}, fmt.Errorf("there is no job %s", key)
	case 1:
		return found[0], nil
	}
	return jobs.State{}, fmt.Errorf("%d workspaces have a job %s; name one with --workspace", len(found), key)
}

// until replays the events up to a time.
func until(ctx context.Context, tx db.Tx, w workspace, h history, at time.Time) (jobs.State, error) {
	if h.unreadable != nil {
		return jobs.State{}, h.unreadable
	}
	events := h.events
	later := slices.IndexFunc(events, func(e eventlog.Event) bool { return happenedAt(e).After(at) })
	if later < 0 {
		later = len(events)
	}
	switch {
	case later > 0:
	case len(events) > 0 && events[0].Type != eventlog.JobCreated:
		return jobs.State{}, fmt.Errorf("its log is folded up to %s; what it was before cannot be told",
			happenedAt(events[0]).UTC().Format(time.RFC3339))
	default:
		return jobs.State{}, fmt.Errorf("it was not there yet at %s", at.UTC().Format(time.RFC3339))
	}
	state, err := jobs.Replay(events[:later])
	if err != nil {
		return jobs.State{}, err
	}
	contents, err := eventlog.ContentsTx(ctx, tx, w.ID, state.Contents())
	if err != nil {
		return jobs.State{}, err
	}
	return state.Fill(contents)
}

// happenedAt is when what an event records was so.
func happenedAt(e eventlog.Event) time.Time {
	if e.SavedAt != nil {
		return *e.SavedAt
	}
	return e.At
}
