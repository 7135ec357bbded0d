package eventlog

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Log reads and appends events.
type Log struct {
	db *db.DB

	folds      Folds
	compaction compaction
}

// Folds notes, in the transaction that did it, that an event stands for others
// now, which were removed.
type Folds interface {
	FoldTx(ctx context.Context, tx db.Tx, workspace ids.ID, event int64, removed []int64) error
}

// New returns the log kept in d. Compaction notifies folds of what it folded; nil is nobody.
func New(d *db.DB, folds Folds) *Log {
	return &Log{db: d, folds: folds}
}

// AppendTx records a fact in the caller's transaction. Of e, the fields ID,
// Cursor, JobKey, At and SavedAt are the database's to fill in.
func AppendTx(ctx context.Context, tx db.Tx, workspace ids.ID, e Event) error {
	var stored Encoded
	var err error
	if e.JobID != nil {
		stored, err = Encode(e.Changes, e.Payload)
	} else {
		stored.Changes, stored.Payload, err = encode(e.Changes, e.Payload)
	}
	if err != nil {
		return err
	}
	return appendTx(ctx, tx, workspace, e, stored)
}

// RecordTx appends what somebody did beside jobs, with facts as its payload, nil for
// none, in the caller's transaction.
func RecordTx(ctx context.Context, tx db.Tx, who tenancy.Principal, kind Type, facts any, changes ...Change) error {
	var stored Encoded
	var err error
	if stored.Changes, stored.Payload, err = encode(changes, facts); err != nil {
		return err
	}
	return appendTx(ctx, tx, who.Workspace, Event{Type: kind, Actor: who.Actor()}, stored)
}

// OfJob returns the newest events of a job, newest first: those older than the
// event with id before, or the very newest where before is 0. At most limit.
func (l *Log) OfJob(ctx context.Context, who tenancy.Principal, job ids.ID, before int64, limit int) ([]Event, error) {
	var list []Event
	err := l.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = OfJobTx(ctx, tx, who.Workspace, job, before, limit)
		return err
	})
	return list, err
}

// Tail returns what follows a place in the log, oldest first, at most limit
// events, and the place after the last of them. Reading again from that place
// gives everything later exactly once. It leaves nothing out: TailFiltered is for
// those who may not read all of it.
func (l *Log) Tail(ctx context.Context, who tenancy.Principal, after Cursor, limit int) ([]Event, Cursor, error) {
	var list []Event
	err := l.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = tailTx(ctx, tx, who.Workspace, after, limit)
		return err
	}, db.ByIndex)
	readableBy(who, list)
	if len(list) > 0 {
		after = list[len(list)-1].Cursor
	}
	return list, after, err
}
