package eventlog

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// appendTx appends an event whose changes and payload are encoded.
func appendTx(ctx context.Context, tx db.Tx, workspace ids.ID, e Event, stored Encoded) error {
	params := dbsqlc.EventAppendParams{
		WorkspaceID: workspace, Type: string(e.Type), JobID: e.JobID, Actor: e.Actor.Name, ActorKind: string(e.Actor.Kind),
		ActorID: e.Actor.ID, Epoch: e.Epoch, Changes: stored.Changes, Payload: stored.Payload,
	}
	for _, c := range stored.Contents {
		params.Sums, params.Bodies = append(params.Sums, c.SHA256), append(params.Bodies, c.Body)
	}
	return q.EventAppend(ctx, tx, params)
}

// ContentsTx reads contents by their SHA-256, as the database writes JSON. One that
// is not there, or is not what its SHA-256 says, is left out.
func ContentsTx(ctx context.Context, tx db.Tx, workspace ids.ID, sums []string) (map[string]json.RawMessage, error) {
	if len(sums) == 0 {
		return nil, nil
	}
	rows, err := q.Contents(ctx, tx, workspace, sums)
	if err != nil {
		return nil, err
	}
	contents := make(map[string]json.RawMessage, len(rows))
	for _, r := range rows {
		contents[r.Sum] = r.Body
	}
	return contents, nil
}

// HeadTx returns the place after everything that the transaction's next
// statement is sure to see: a page rendered in tx is live from there on.
func HeadTx(ctx context.Context, tx db.Tx) (Cursor, error) {
	head, err := q.EventHead(ctx, tx)
	if err != nil {
		return Cursor{}, err
	}
	xid, err := strconv.ParseUint(head, 10, 63)
	if err != nil {
		return Cursor{}, fmt.Errorf("head of the log: %w", err)
	}
	// Nothing below the oldest running transaction can appear any more; what it
	// writes itself comes after.
	return Cursor{xid: xid, id: 0}, nil
}

// placeAtTx returns the place before the first transaction that began at a time or later.
func placeAtTx(ctx context.Context, tx db.Tx, workspace ids.ID, at time.Time) (place Cursor, err error) {
	xid, err := q.EventPlaceAt(ctx, tx, at, workspace)
	if err != nil {
		return Cursor{}, fmt.Errorf("place of %s in the log: %w", at, err)
	}
	place.xid, err = strconv.ParseUint(xid, 10, 64)
	return place, err
}

// tailTx reads what follows a place, oldest first.
func tailTx(ctx context.Context, tx db.Tx, workspace ids.ID, after Cursor, limit int) ([]Event, error) {
	rows, err := q.EventTail(ctx, tx, workspace, after.text(), after.id, limit)
	return eventsFrom(rows), err
}

// TailTx is Tail in the caller's transaction, for the server itself.
func TailTx(ctx context.Context, tx db.Tx, workspace ids.ID, after Cursor, limit int) ([]Event, error) {
	return tailTx(ctx, tx, workspace, after, limit)
}

// Page is a part of the log, oldest event first.
type Page struct {
	Events []Event
	End    Cursor // the place after everything that was looked at
	More   bool   // whether something may follow at once
}

// TailUnusualTx looks at no more than scan events after a place and gives of them no more
// than limit: those of other types than usual, and all of jobs that agents submitted.
func TailUnusualTx(ctx context.Context, tx db.Tx, workspace ids.ID, after Cursor, usual []string, scan, limit int) (Page, error) {
	rows, err := q.EventTailUnusual(ctx, tx, dbsqlc.EventTailUnusualParams{WorkspaceID: workspace, Usual: usual, AfterXid: after.text(),
		AfterID: after.id, MaxScan: scan, MaxRows: limit})
	if err != nil {
		return Page{}, err
	}
	page := Page{End: after}
	for _, r := range rows {
		e := eventFrom(dbsqlc.EventTailRow{ID: r.ID, Xid: r.Xid, Type: r.Type, JobID: r.JobID, JobKey: r.JobKey, Actor: r.Actor,
			ActorKind: r.ActorKind, ActorID: r.ActorID, Epoch: r.Epoch, At: r.At, Changes: r.Changes, Payload: r.Payload})
		if len(page.Events) == limit { // what fits and was not given follows
			page.More = true
			return page, nil
		}
		page.End, page.More = e.Cursor, r.Looked == scan
		if r.Fits {
			page.Events = append(page.Events, e)
		}
	}
	return page, nil
}

// HeldBackTx reports whether events after the end of a tail are kept back by a transaction
// that still runs, so that they appear later without a wake-up of their own.
func HeldBackTx(ctx context.Context, tx db.Tx, workspace ids.ID, end Cursor) (bool, error) {
	return q.EventFollows(ctx, tx, workspace, end.text(), end.id)
}

// TypesTx tells of which types the events after a place are, of at most limit of them, how many they
// are, and the place after them.
func TypesTx(ctx context.Context, tx db.Tx, workspace ids.ID, after Cursor, limit int) (types []Type, n int, end Cursor, err error) {
	rows, err := q.EventTypes(ctx, tx, workspace, after.text(), after.id, limit)
	if err != nil || len(rows) == 0 {
		return nil, 0, after, err
	}
	r := rows[0]
	for _, t := range r.Types {
		types = append(types, Type(t))
	}
	end.id = r.ID
	end.xid, err = strconv.ParseUint(r.Xid, 10, 63)
	return types, r.Looked, end, err
}

// TailJobsTx reads of limit events after a place which jobs they are of, how many events they
// are, and the place after them. With fields it names the jobs alone of which one was changed.
func TailJobsTx(ctx context.Context, tx db.Tx, workspace ids.ID, after Cursor, limit int, fields ...string) (jobs []ids.ID, n int,
	end Cursor, err error) {
	rows, err := q.EventTailJobs(ctx, tx, dbsqlc.EventTailJobsParams{WorkspaceID: workspace, AfterXid: after.text(), AfterID: after.id,
		Fields: append([]string{}, fields...), MaxRows: limit})
	if err != nil {
		return nil, 0, after, err
	}
	known := map[ids.ID]bool{}
	jobs, end = []ids.ID{}, after
	for _, r := range rows {
		end.id = r.ID
		if end.xid, err = strconv.ParseUint(r.Xid, 10, 63); err != nil {
			return nil, 0, after, fmt.Errorf("jobs of events: %w", err)
		}
		if r.Fits && r.JobID != nil && !known[*r.JobID] {
			known[*r.JobID], jobs = true, append(jobs, *r.JobID)
		}
	}
	return jobs, len(rows), end, nil
}

// OfJobTx reads the events of a job before one of them, 0 for the newest, newest first.
func OfJobTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, before int64, limit int) ([]Event, error) {
	rows, err := q.EventOfJob(ctx, tx, workspace, job, before, limit)
	list := make([]Event, 0, len(rows))
	for _, r := range rows {
		e := eventFrom(dbsqlc.EventTailRow{ID: r.ID, Xid: r.Xid, Type: r.Type, JobID: r.JobID, Actor: r.Actor, ActorKind: r.ActorKind,
			ActorID: r.ActorID, Epoch: r.Epoch, At: r.At, Changes: r.Changes, Payload: r.Payload})
		e.SavedAt = r.SavedAt
		list = append(list, e)
	}
	return list, err
}

// scannedEvent is an event that the filter fits, or the last one of a scan.
type scannedEvent struct {
	Event

	fits    bool
	scanned int // how many events were looked at, up to this one
}

// scanTx looks at size events after a place, oldest first, for limit that the filter
// fits. Those of the types in hidden fit never.
func scanTx(ctx context.Context, tx db.Tx, workspace ids.ID, f Filter, hidden []string, after Cursor, size, limit int) ([]scannedEvent,
	error) {
	rows, err := q.EventScan(ctx, tx, dbsqlc.EventScanParams{
		WorkspaceID: workspace, Types: f.patterns(), Quiet: f.Quiet, Actors: db.OrEmpty(f.Actors), Settings: hidden, AfterXid: after.text(),
		AfterID: after.id, Since: f.Since, MaxScan: size, MaxRows: limit})
	return scannedFrom(rows), err
}

// scanBackTx looks at size events of a part of the log, newest first.
func scanBackTx(ctx context.Context, tx db.Tx, workspace ids.ID, f Filter, hidden []string, in span, size, limit int) ([]scannedEvent,
	error) {
	rows, err := q.EventScanBack(ctx, tx, dbsqlc.EventScanBackParams{
		WorkspaceID: workspace, Types: f.patterns(), Quiet: f.Quiet, Actors: db.OrEmpty(f.Actors), Settings: hidden,
		BeforeXid: in.before.text(), BeforeID: in.before.id, FromXid: in.from.text(), Since: f.Since,
		MaxScan: size, MaxRows: limit})
	return scannedFrom(rows), err
}

// scanJobTx finds events of the filter's job after a place, oldest first.
func scanJobTx(ctx context.Context, tx db.Tx, workspace ids.ID, f Filter, after Cursor, limit int) ([]Event, error) {
	rows, err := q.EventScanJob(ctx, tx, dbsqlc.EventScanJobParams{
		WorkspaceID: workspace, JobIds: f.Jobs, Types: f.patterns(), Quiet: f.Quiet, Actors: db.OrEmpty(f.Actors), Since: f.Since,
		AfterXid: after.text(), AfterID: after.id, MaxRows: limit})
	return eventsFrom(rows), err
}

// scanJobBackTx finds events of the filter's job before a place, newest first.
func scanJobBackTx(ctx context.Context, tx db.Tx, workspace ids.ID, f Filter, before Cursor, limit int) ([]Event, error) {
	rows, err := q.EventScanJobBack(ctx, tx, dbsqlc.EventScanJobBackParams{
		WorkspaceID: workspace, JobIds: f.Jobs, Types: f.patterns(), Quiet: f.Quiet, Actors: db.OrEmpty(f.Actors), Since: f.Since,
		BeforeXid: before.text(), BeforeID: before.id, MaxRows: limit})
	return eventsFrom(rows), err
}

// auditTx reads what people did beside jobs, before a place, newest first.
func auditTx(ctx context.Context, tx db.Tx, workspace ids.ID, f Filter, before AuditPlace, limit int) ([]Event, error) {
	rows, err := q.AuditEvents(ctx, tx, dbsqlc.AuditEventsParams{
		WorkspaceID: workspace, Types: f.patterns(), Actors: db.OrEmpty(f.Actors), BeforeAt: before.at, BeforeID: before.id,
		MaxRows: limit})
	list := make([]Event, 0, len(rows))
	for _, r := range rows {
		list = append(list, eventFrom(dbsqlc.EventTailRow{ID: r.ID, Type: r.Type, Actor: r.Actor, ActorKind: r.ActorKind,
			ActorID: r.ActorID, At: r.At, Changes: r.Changes, Payload: r.Payload}))
	}
	return list, err
}

// eventRow is any of the rows that an event is read from.
type eventRow interface {
	dbsqlc.EventTailRow | dbsqlc.EventScanJobRow | dbsqlc.EventScanJobBackRow
}

func eventsFrom[R eventRow](rows []R) []Event {
	list := make([]Event, 0, len(rows))
	for _, r := range rows {
		list = append(list, eventFrom(dbsqlc.EventTailRow(r)))
	}
	return list
}

func scannedFrom[R dbsqlc.EventScanRow | dbsqlc.EventScanBackRow](rows []R) []scannedEvent {
	list := make([]scannedEvent, 0, len(rows))
	for _, row := range rows {
		r := dbsqlc.EventScanRow(row)
		list = append(list, scannedEvent{fits: r.Fits, scanned: r.Looked, Event: eventFrom(dbsqlc.EventTailRow{ID: r.ID, Xid: r.Xid,
			Type: r.Type, JobID: r.JobID, JobKey: r.JobKey, Actor: r.Actor, ActorKind: r.ActorKind, ActorID: r.ActorID, Epoch: r.Epoch,
			At: r.At, Changes: r.Changes, Payload: r.Payload})})
	}
	return list
}

func eventFrom(r dbsqlc.EventTailRow) Event {
	e := Event{ID: r.ID, Type: Type(r.Type), JobID: r.JobID, JobKey: r.JobKey, Actor: tenancy.ParseActor(r.ActorKind, r.ActorID, r.Actor),
		Epoch: r.Epoch, At: r.At, Payload: r.Payload}
	// Both were written by this package. A row that does not decode shows as an
	// event without changes, so that it does not hide the rest of the log.
	e.Cursor.xid, _ = strconv.ParseUint(r.Xid, 10, 63)
	e.Cursor.id = r.ID
	_ = json.Unmarshal(r.Changes, &e.Changes)
	return e
}

// text returns the transaction as the queries take it.
func (c Cursor) text() string { return strconv.FormatUint(c.xid, 10) }
