package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/jobs"
)

// AsOf gives a job as its log tells that it was at a time. workspace is a slug; ""
// will do where one workspace alone has a job of that key.
func AsOf(ctx context.Context, d *db.DB, workspace, key string, at time.Time) (jobs.State, error) {
	var workspaces []dbsqlc.AuditWorkspacesRow
	err := d.InSystem(ctx, func(tx db.Tx) (err error) {
		workspaces, err = q.AuditWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return jobs.State{}, fmt.Errorf("list the workspaces: %w", err)
	}
	var found []jobs.State
	for _, w := range workspaces {
		if workspace != "" && w.Slug != workspace {
			continue
		}
		err := d.InWorkspaceThorough(ctx, w.ID, func(tx db.Tx) error {
			rows, err := q.JobIDs(ctx, tx, dbsqlc.JobIDsParams{WorkspaceID: w.ID, Keys: []string{key}})
			if err != nil || len(rows) == 0 {
				return err
			}
			page, err := q.AuditHistories(ctx, tx, dbsqlc.AuditHistoriesParams{WorkspaceID: w.ID, Only: &rows[0].ID, MaxRows: 1})
			if err != nil || len(page) == 0 {
				return err
			}
			state, err := until(ctx, tx, w, page[0].Events, at)
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			found = append(found, state)
			return nil
		})
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
func until(ctx context.Context, tx db.Tx, w dbsqlc.AuditWorkspacesRow, raw []byte, at time.Time) (jobs.State, error) {
	events, err := decodeEvents(raw)
	if err != nil {
		return jobs.State{}, err
	}
	later := slices.IndexFunc(events, func(e eventlog.Event) bool { return toldAt(e).After(at) })
	if later < 0 {
		later = len(events)
	}
	switch {
	case later > 0:
	case len(events) > 0 && events[0].Type != eventlog.JobCreated:
		return jobs.State{}, fmt.Errorf("its log is folded up to %s; what it was before cannot be told",
			toldAt(events[0]).UTC().Format(time.RFC3339))
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

// toldAt is when what an event tells was so.
func toldAt(e eventlog.Event) time.Time {
	if e.SavedAt != nil {
		return *e.SavedAt
	}
	return e.At
}
