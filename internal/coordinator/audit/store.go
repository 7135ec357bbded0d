package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// workspace is one of those that are checked.
type workspace = dbsqlc.AuditWorkspacesRow

// record is a job and the rows beside it that have to agree with it.
type record = dbsqlc.AuditJobsRow

func allWorkspaces(ctx context.Context, d *db.DB) (list []workspace, err error) {
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		list, err = q.AuditWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the workspaces: %w", err)
	}
	return list, nil
}

// jobTx finds a job by its key.
func jobTx(ctx context.Context, tx db.Tx, in ids.ID, key string) (id ids.ID, found bool, err error) {
	rows, err := q.JobIDs(ctx, tx, in, []string{key}, nil)
	if err != nil || len(rows) == 0 {
		return ids.Nil, false, err
	}
	return rows[0].ID, true, nil
}

// lockTx locks a job; false where it is gone.
func lockTx(ctx context.Context, tx db.Tx, in, job ids.ID) (bool, error) {
	_, err := q.JobLock(ctx, tx, in, job)
	found, err := db.Found(err)
	if err != nil {
		err = fmt.Errorf("lock job: %w", err)
	}
	return found, err
}

// history is a job as it is stored, with its events.
type history struct {
	id         ids.ID
	key        string
	leaseEpoch int64 // 0 without a lease
	stored     jobs.State
	events     []eventlog.Event
	unreadable error // why there are no events
}

// historiesTx reads the jobs that follow one by id, at most limit, with their events.
func historiesTx(ctx context.Context, tx db.Tx, in, after ids.ID, limit int) ([]history, error) {
	rows, err := q.AuditHistories(ctx, tx, in, after, nil, limit)
	if err != nil {
		return nil, err
	}
	list := make([]history, 0, len(rows))
	for _, r := range rows {
		h, err := historyFrom(r)
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

// historyTx reads one job with its events; false where it is gone.
func historyTx(ctx context.Context, tx db.Tx, in, job ids.ID) (history, bool, error) {
	rows, err := q.AuditHistories(ctx, tx, in, ids.ID{}, &job, 1)
	if err != nil {
		return history{}, false, err
	}
	if len(rows) == 0 {
		return history{}, false, nil
	}
	h, err := historyFrom(rows[0])
	return h, err == nil, err
}

func historyFrom(r dbsqlc.AuditHistoriesRow) (history, error) {
	h := history{id: r.ID, key: r.Key, leaseEpoch: r.LeaseEpoch}
	if err := json.Unmarshal([]byte(r.State), &h.stored); err != nil {
		return h, fmt.Errorf("state of %s: %w", r.Key, err)
	}
	h.events, h.unreadable = eventsFrom([]byte(r.Events))
	return h, nil
}

// eventRow is an event as AuditHistories gives it. Its values stay as they are
// written until the replay knows what they are.
type eventRow struct {
	ID        int64           `json:"id"`
	Type      eventlog.Type   `json:"type"`
	Actor     string          `json:"actor"`
	ActorKind tenancy.Kind    `json:"actor_kind"`
	ActorID   string          `json:"actor_id"`
	Epoch     *int64          `json:"epoch"`
	At        time.Time       `json:"at"`
	SavedAt   *time.Time      `json:"saved_at"`
	Payload   json.RawMessage `json:"payload"`
	Changes   []struct {
		Field     string          `json:"field"`
		Old       json.RawMessage `json:"old"`
		New       json.RawMessage `json:"new"`
		OldSHA256 string          `json:"old_sha256"`
		NewSHA256 string          `json:"new_sha256"`
	} `json:"changes"`
}

func eventsFrom(raw []byte) ([]eventlog.Event, error) {
	var rows []eventRow
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, fmt.Errorf("an event cannot be read: %w", err)
	}
	list := make([]eventlog.Event, 0, len(rows))
	for _, r := range rows {
		e := eventlog.Event{ID: r.ID, Type: r.Type, Actor: tenancy.Actor{Kind: r.ActorKind, ID: r.ActorID, Name: r.Actor}, Epoch: r.Epoch,
			At: r.At, SavedAt: r.SavedAt, Payload: r.Payload, Changes: make([]eventlog.Change, 0, len(r.Changes))}
		for _, c := range r.Changes {
			e.Changes = append(e.Changes, eventlog.Change{Field: c.Field, Old: written(c.Old), New: written(c.New),
				OldSHA256: c.OldSHA256, NewSHA256: c.NewSHA256})
		}
		list = append(list, e)
	}
	return list, nil
}

// written returns a value as JSON, nil where there is none.
func written(raw json.RawMessage) any {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}
