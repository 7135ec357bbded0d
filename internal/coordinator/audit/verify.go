package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// verifyPage is how many jobs Verify reads with their events in a statement.
const verifyPage = 50

// Verify replays every job of every workspace from its events and compares what
// they lead to with what is stored. An error means that it could not look at
// all of them; the report then holds what it saw.
func Verify(ctx context.Context, d *db.DB) (Report, error) {
	r := Report{Checks: []Check{
		{Name: "history", About: "each event of a job follows from those before it"},
		{Name: "state", About: "a job is what its events lead to"},
	}}
	err := r.walk(ctx, d, verifyPage, func(ctx context.Context, tx db.Tx, w dbsqlc.AuditWorkspacesRow, after ids.ID) (int, ids.ID, error) {
		page, err := historiesTx(ctx, tx, w.ID, dbsqlc.AuditHistoriesParams{After: after, MaxRows: verifyPage})
		for _, h := range page {
			if h.err != nil {
				r.note("history", w.Slug, h.key, h.err.Error())
			} else {
				r.note("state", w.Slug, h.key, differences(h.stored, h.told))
			}
			after = h.id
		}
		return len(page), after, err
	})
	return r, err
}

// history is a job as it is stored, and as its events tell it.
type history struct {
	id           ids.ID
	key          string
	leaseEpoch   int64 // 0 without a lease
	stored, told jobs.State
	err          error // why the events tell nothing
}

// historiesTx reads jobs and replays them. Contents are read for what is still told
// after all events.
func historiesTx(ctx context.Context, tx db.Tx, workspace ids.ID, params dbsqlc.AuditHistoriesParams) ([]history, error) {
	params.WorkspaceID = workspace
	rows, err := q.AuditHistories(ctx, tx, params)
	if err != nil {
		return nil, fmt.Errorf("read histories: %w", err)
	}
	list := make([]history, 0, len(rows))
	var sums []string
	for _, row := range rows {
		h := history{id: row.ID, key: row.Key, leaseEpoch: row.LeaseEpoch}
		if err := json.Unmarshal(row.State, &h.stored); err != nil {
			return nil, fmt.Errorf("state of %s: %w", row.Key, err)
		}
		h.told, h.err = replay(row.Events)
		list, sums = append(list, h), append(sums, h.told.Contents()...)
	}
	contents, err := eventlog.ContentsTx(ctx, tx, workspace, sums)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if h := &list[i]; h.err == nil {
			h.told, h.err = h.told.Fill(contents)
		}
	}
	return list, nil
}

func replay(raw []byte) (jobs.State, error) {
	events, err := decodeEvents(raw)
	if err != nil {
		return jobs.State{}, err
	}
	return jobs.Replay(events)
}

// decodeEvents reads events as AuditHistories gives them. Numbers stay as they are
// written.
func decodeEvents(raw []byte) ([]eventlog.Event, error) {
	var events []eventlog.Event
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&events); err != nil {
		return nil, fmt.Errorf("an event cannot be read: %w", err)
	}
	return events, nil
}

func differences(stored, told jobs.State) string {
	diff := stored.Diff(told)
	if len(diff) == 0 {
		return ""
	}
	return "the job and its events differ: " + strings.Join(diff, "; ")
}
