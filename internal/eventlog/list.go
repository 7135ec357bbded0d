package eventlog

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// A filter that fits little looks at scanRows events in a statement, and at
// most scans times in a call.
const (
	scanRows = 5000
	scans    = 4
)

// Filter narrows the log. Zero fields narrow nothing.
type Filter struct {
	Types []string // one of these; "job.*" is every type that begins with "job."
	Job   *ids.ID
	Actor string // by id, or by the name that was the actor's then
	// Since leaves out what happened before.
	Since *time.Time
}

// longest is how long a transaction takes at most: the log is in the order in which
// transactions began, an event has the time at which it was written.
const longest = 5 * time.Minute

// from is the first transaction that may have an event of the filter's time.
func (l *Log) from(ctx context.Context, who tenancy.Principal, f Filter) (place Cursor, err error) {
	if f.Since == nil {
		return Cursor{}, nil
	}
	err = l.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		xid, err := l.q.EventPlaceAt(ctx, tx, dbsqlc.EventPlaceAtParams{WorkspaceID: who.Workspace, At: f.Since.Add(-longest)})
		if err != nil {
			return fmt.Errorf("place of %s in the log: %w", f.Since, err)
		}
		place.xid, err = strconv.ParseUint(xid, 10, 64)
		return err
	})
	return place, err
}

// patterns are the types as LIKE takes them.
func (f Filter) patterns() []string {
	list := make([]string, 0, len(f.Types))
	for _, t := range f.Types {
		if family, ok := strings.CutSuffix(t, ".*"); ok {
			list = append(list, db.EscapeLike(family)+".%")
		} else {
			list = append(list, db.EscapeLike(t))
		}
	}
	return list
}

// narrows reports whether the filter may leave an event out.
func (f Filter) narrows() bool {
	return len(f.Types) > 0 || f.Job != nil || f.Actor != "" || f.Since != nil
}

// scanSize is how many events a statement looks at, to find limit of them that
// who may read and the filter takes. Settings alone are few among the rest.
func (f Filter) scanSize(who tenancy.Principal, limit int) int {
	switch {
	case f.narrows():
		return scanRows
	case len(unread(who)) > 0:
		return min(2*limit+200, scanRows)
	}
	return limit + 1
}

// Older returns the newest events that lie before a place, newest first, or the
// very newest where before is the zero Cursor, and the place before the last of
// them; it is the zero Cursor after the first event of the log. Where a filter
// fits little there may be fewer events than limit, even none, with a place
// from which to go on.
func (l *Log) Older(ctx context.Context, who tenancy.Principal, f Filter, before Cursor, limit int) ([]Event, Cursor, error) {
	if before == (Cursor{}) {
		before = Cursor{xid: math.MaxInt64}
	}
	if f.Job != nil {
		return l.olderOfJob(ctx, who, f, before, limit)
	}
	from, err := l.from(ctx, who, f)
	if err != nil {
		return nil, Cursor{}, err
	}
	size := f.scanSize(who, limit)
	var list []Event
	for range scans {
		found, err := l.scanBack(ctx, who, f, span{from, before}, size, limit-len(list))
		if err != nil {
			return nil, Cursor{}, err
		}
		list = append(list, found.events...)
		before = found.place
		if found.last && found.looked < size {
			return list, Cursor{}, nil
		}
		if len(list) == limit {
			break
		}
	}
	return list, before, nil
}

// TailOf is Tail with a filter, and for an agent without settings. The place it
// returns may lie behind events that were left out; where few fit there may be
// fewer events than limit, even none, with a place from which to go on.
func (l *Log) TailOf(ctx context.Context, who tenancy.Principal, f Filter, after Cursor, limit int) ([]Event, Cursor, error) {
	if f.Job != nil {
		return l.tailOfJob(ctx, who, f, after, limit)
	}
	if !f.narrows() && len(unread(who)) == 0 {
		return l.Tail(ctx, who, after, limit)
	}
	from, err := l.from(ctx, who, f)
	if err != nil {
		return nil, after, err
	}
	if after.Before(from) {
		after = from
	}
	size := f.scanSize(who, limit)
	var list []Event
	for range scans {
		found, err := l.scan(ctx, who, f, after, size, limit-len(list))
		if err != nil {
			return nil, after, err
		}
		list = append(list, found.events...)
		after = found.place
		if len(list) == limit || found.looked < size {
			break
		}
	}
	return list, after, nil
}

// Head returns the place after everything that can no longer change: whoever
// tails from there on is told of all that is committed later.
func (l *Log) Head(ctx context.Context, who tenancy.Principal) (head Cursor, err error) {
	err = l.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		head, err = HeadTx(ctx, tx)
		return err
	})
	return head, err
}

// scanned is what one statement found.
type scanned struct {
	events []Event
	place  Cursor // of the last event that was decided on
	last   bool   // it was the last that was looked at
	looked int
}

// take reads rows in their order: events that fit until there are limit of
// them, and how far was looked. from is the place where there are no rows.
func take(who tenancy.Principal, rows []dbsqlc.EventScanRow, from Cursor, limit int) scanned {
	s := scanned{place: from, last: true}
	for i, r := range rows {
		e := rowEvent(who, dbsqlc.EventTailRow{ID: r.ID, Xid: r.Xid, Type: r.Type, JobID: r.JobID, JobKey: r.JobKey, Actor: r.Actor,
			ActorKind: r.ActorKind, ActorID: r.ActorID, Epoch: r.Epoch, At: r.At, Changes: r.Changes, Payload: r.Payload})
		if r.Fits {
			s.events = append(s.events, e)
		}
		s.place, s.looked, s.last = e.Cursor, int(r.Looked), i == len(rows)-1
		if len(s.events) == limit {
			break
		}
	}
	return s
}

func (l *Log) scan(ctx context.Context, who tenancy.Principal, f Filter, after Cursor, size, limit int) (s scanned, err error) {
	err = l.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		rows, err := l.q.EventScan(ctx, tx, dbsqlc.EventScanParams{
			WorkspaceID: who.Workspace, Types: f.patterns(), Actor: f.Actor, Settings: unread(who), AfterXid: after.text(),
			AfterID: after.id,
			Since:   f.Since, MaxScan: int32(size), MaxRows: int32(limit), //nolint:gosec // limit is checked at the edge
		})
		s = take(who, rows, after, limit)
		return err
	})
	return s, err
}

// span is a part of the log.
type span struct{ from, before Cursor }

func (l *Log) scanBack(ctx context.Context, who tenancy.Principal, f Filter, in span, size, limit int) (s scanned, err error) {
	err = l.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		found, err := l.q.EventScanBack(ctx, tx, dbsqlc.EventScanBackParams{
			WorkspaceID: who.Workspace, Types: f.patterns(), Actor: f.Actor, Settings: unread(who), BeforeXid: in.before.text(),
			BeforeID: in.before.id,
			FromXid:  in.from.text(), Since: f.Since, MaxScan: int32(size), MaxRows: int32(limit),
			//nolint:gosec // limit is checked at the edge
		})
		rows := make([]dbsqlc.EventScanRow, 0, len(found))
		for _, r := range found {
			rows = append(rows, dbsqlc.EventScanRow(r))
		}
		s = take(who, rows, in.before, limit)
		return err
	})
	return s, err
}

func (l *Log) tailOfJob(ctx context.Context, who tenancy.Principal, f Filter, after Cursor, limit int) (list []Event, _ Cursor, err error) {
	err = l.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		rows, err := l.q.EventScanJob(ctx, tx, dbsqlc.EventScanJobParams{
			WorkspaceID: who.Workspace, JobID: *f.Job, Types: f.patterns(), Actor: f.Actor, Since: f.Since, AfterXid: after.text(),
			AfterID: after.id, MaxRows: int32(limit), //nolint:gosec // limit is checked at the edge
		})
		for _, r := range rows {
			list = append(list, rowEvent(who, dbsqlc.EventTailRow(r)))
		}
		return err
	})
	if len(list) > 0 {
		after = list[len(list)-1].Cursor
	}
	return list, after, err
}

func (l *Log) olderOfJob(ctx context.Context, who tenancy.Principal, f Filter, before Cursor, limit int) (list []Event, _ Cursor,
	err error) {
	err = l.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		rows, err := l.q.EventScanJobBack(ctx, tx, dbsqlc.EventScanJobBackParams{
			WorkspaceID: who.Workspace, JobID: *f.Job, Types: f.patterns(), Actor: f.Actor, Since: f.Since, BeforeXid: before.text(),
			BeforeID: before.id, MaxRows: int32(limit + 1), //nolint:gosec // limit is checked at the edge
		})
		for _, r := range rows {
			list = append(list, rowEvent(who, dbsqlc.EventTailRow(r)))
		}
		return err
	})
	if len(list) <= limit {
		return list, Cursor{}, err
	}
	return slices.Clip(list[:limit]), list[limit-1].Cursor, err
}

func rowEvent(who tenancy.Principal, r dbsqlc.EventTailRow) Event {
	e := Event{ID: r.ID, Type: Type(r.Type), JobID: r.JobID, Actor: tenancy.ActorOf(r.ActorKind, r.ActorID, r.Actor),
		Epoch: r.Epoch, At: r.At, Payload: payloadFor(who, Type(r.Type), r.Payload)}
	if r.JobKey != nil {
		e.JobKey = *r.JobKey
	}
	return e.decode(r.Xid, r.Changes)
}

// text is the transaction as the queries take it.
func (c Cursor) text() string { return strconv.FormatUint(c.xid, 10) }
