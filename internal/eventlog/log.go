package eventlog

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// Log reads and appends events.
type Log struct {
	db *db.DB
	q  *dbsqlc.Queries

	folds      Folds
	compaction compaction
}

// Folds notes, in the transaction that did it, that an event stands for others
// now, which were removed.
type Folds interface {
	FoldTx(ctx context.Context, tx db.Tx, workspace ids.ID, event int64, removed []int64) error
}

// New returns the log kept in d.
func New(d *db.DB) *Log {
	return &Log{db: d, q: dbsqlc.New()}
}

// NoteFolds makes compaction tell f what it folded. Call it before Compact.
func (l *Log) NoteFolds(f Folds) { l.folds = f }

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
	params := dbsqlc.EventAppendParams{
		WorkspaceID: workspace, Type: string(e.Type), JobID: e.JobID, Actor: e.Actor.Name, ActorKind: string(e.Actor.Kind),
		ActorID: e.Actor.ID,
		Epoch:   e.Epoch, Changes: stored.Changes, Payload: stored.Payload,
	}
	for _, c := range stored.Contents {
		params.Sums, params.Bodies = append(params.Sums, c.SHA256), append(params.Bodies, c.Body)
	}
	if err := dbsqlc.New().EventAppend(ctx, tx, params); err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	return nil
}

// OfJob returns the newest events of a job, newest first: those older than the
// event with id before, or the very newest where before is 0. At most limit.
func (l *Log) OfJob(ctx context.Context, who tenancy.Principal, job ids.ID, before int64, limit int) ([]Event, error) {
	var list []Event
	err := l.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		rows, err := l.q.EventOfJob(ctx, tx, dbsqlc.EventOfJobParams{
			WorkspaceID: who.Workspace, JobID: job, Before: before, MaxRows: int32(limit), //nolint:gosec // limit is checked at the edge
		})
		for _, r := range rows {
			e := Event{ID: r.ID, Type: Type(r.Type), JobID: r.JobID, Actor: tenancy.ActorOf(r.ActorKind, r.ActorID, r.Actor),
				Epoch: r.Epoch, At: r.At, SavedAt: r.SavedAt, Payload: r.Payload}
			list = append(list, e.decode(r.Xid, r.Changes))
		}
		return err
	})
	return list, err
}

// Tail returns what follows a place in the log, oldest first, at most limit
// events, and the place after the last of them. Reading again from that place
// gives everything later exactly once. It leaves nothing out: TailOf is for
// those who may not read all of it.
func (l *Log) Tail(ctx context.Context, who tenancy.Principal, after Cursor, limit int) ([]Event, Cursor, error) {
	var list []Event
	err := l.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		rows, err := l.q.EventTail(ctx, tx, dbsqlc.EventTailParams{
			WorkspaceID: who.Workspace, AfterXid: after.text(), AfterID: after.id,
			MaxRows: int32(limit), //nolint:gosec // limit is the caller's constant
		})
		for _, r := range rows {
			list = append(list, rowEvent(who, r))
		}
		return err
	})
	if len(list) > 0 {
		after = list[len(list)-1].Cursor
	}
	return list, after, err
}

// HeadTx returns the place after everything that the transaction's next
// statement is sure to see: a page rendered in tx is live from there on.
func HeadTx(ctx context.Context, tx db.Tx) (Cursor, error) {
	head, err := dbsqlc.New().EventHead(ctx, tx)
	if err != nil {
		return Cursor{}, fmt.Errorf("head of the log: %w", err)
	}
	xid, err := strconv.ParseUint(head, 10, 63)
	if err != nil {
		return Cursor{}, fmt.Errorf("head of the log: %w", err)
	}
	// Nothing below the oldest running transaction can appear any more; what it
	// writes itself comes after.
	return Cursor{xid: xid, id: 0}, nil
}

func (e Event) decode(xid string, changes []byte) Event {
	// Both were written by this package; a row that does not decode shows as an
	// event without changes rather than hiding the rest of the log.
	e.Cursor.xid, _ = strconv.ParseUint(xid, 10, 63)
	e.Cursor.id = e.ID
	_ = json.Unmarshal(changes, &e.Changes)
	return e
}
