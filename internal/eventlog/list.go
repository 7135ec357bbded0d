package eventlog

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// A filter that fits little looks at scanRows events in a statement, and at
// most scans times in a call. Where most events fit the first statement looks at fewer.
const (
	scanRows = 5000
	scans    = 4
)

// Filter narrows the log. Zero fields narrow nothing.
type Filter struct {
	Types []string // one of these; "job.*" is every type that begins with "job."
	Jobs  []ids.ID
	Quiet bool // leaves out what attempts report on their way
	// Actors are ids, or names that were the actors' then.
	Actors []string
	// Since leaves out what happened before.
	Since *time.Time
}

// longest is how long a transaction takes at most: the log is in the order in which
// transactions began, an event has the time at which it was written.
const longest = 5 * time.Minute

// from returns the first transaction that may have an event of the filter's time.
func (l *Log) from(ctx context.Context, who tenancy.Principal, f Filter) (place Cursor, err error) {
	if f.Since == nil {
		return Cursor{}, nil
	}
	err = l.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		place, err = placeAtTx(ctx, tx, who.Workspace, f.Since.Add(-longest))
		return err
	})
	return place, err
}

// patterns returns the types as LIKE takes them.
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

// selects reports whether the filter may leave out most events.
func (f Filter) selects() bool {
	return len(f.Types) > 0 || len(f.Jobs) > 0 || len(f.Actors) > 0 || f.Since != nil
}

// scanSize returns how many events the first statement looks at, to find limit of them that
// who may read and the filter takes. Settings alone are few among the rest.
func (f Filter) scanSize(who tenancy.Principal, limit int) int {
	switch {
	case f.selects():
		return scanRows
	case f.Quiet:
		return min(8*limit+200, scanRows)
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
	if len(f.Jobs) > 0 {
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
		size = scanRows
	}
	return list, before, nil
}

// TailFiltered is Tail with a filter, and for an agent without settings. The place it
// returns may lie behind events that were left out; where few fit there may be
// fewer events than limit, even none, with a place from which to go on.
func (l *Log) TailFiltered(ctx context.Context, who tenancy.Principal, f Filter, after Cursor, limit int) ([]Event, Cursor, error) {
	if len(f.Jobs) > 0 {
		return l.tailOfJob(ctx, who, f, after, limit)
	}
	if !f.selects() && !f.Quiet && len(unread(who)) == 0 {
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
		size = scanRows
	}
	return list, after, nil
}

// Head returns the place after everything that can no longer change: whoever
// tails from there on gets all that is committed later.
func (l *Log) Head(ctx context.Context, who tenancy.Principal) (head Cursor, err error) {
	err = l.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
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

// take reads events in their order: those that fit until there are limit of them,
// and how far was looked. from is the place if there is none.
func take(who tenancy.Principal, list []scannedEvent, from Cursor, limit int) scanned {
	s := scanned{place: from, last: true}
	for i, e := range list {
		if e.fits {
			s.events = append(s.events, e.Event)
		}
		s.place, s.looked, s.last = e.Cursor, e.scanned, i == len(list)-1
		if len(s.events) == limit {
			break
		}
	}
	readableBy(who, s.events)
	return s
}

func (l *Log) scan(ctx context.Context, who tenancy.Principal, f Filter, after Cursor, size, limit int) (s scanned, err error) {
	err = l.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err := scanTx(ctx, tx, who.Workspace, f, unread(who), after, size, limit)
		s = take(who, list, after, limit)
		return err
	}, db.ByIndex)
	return s, err
}

// span is a part of the log.
type span struct{ from, before Cursor }

func (l *Log) scanBack(ctx context.Context, who tenancy.Principal, f Filter, in span, size, limit int) (s scanned, err error) {
	err = l.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err := scanBackTx(ctx, tx, who.Workspace, f, unread(who), in, size, limit)
		s = take(who, list, in.before, limit)
		return err
	}, db.ByIndex)
	return s, err
}

func (l *Log) tailOfJob(ctx context.Context, who tenancy.Principal, f Filter, after Cursor, limit int) (list []Event, _ Cursor, err error) {
	err = l.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err = scanJobTx(ctx, tx, who.Workspace, f, after, limit)
		return err
	}, db.ByIndex)
	readableBy(who, list)
	if len(list) > 0 {
		after = list[len(list)-1].Cursor
	}
	return list, after, err
}

func (l *Log) olderOfJob(ctx context.Context, who tenancy.Principal, f Filter, before Cursor, limit int) (list []Event, _ Cursor,
	err error) {
	err = l.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err = scanJobBackTx(ctx, tx, who.Workspace, f, before, limit+1)
		return err
	}, db.ByIndex)
	readableBy(who, list)
	if len(list) <= limit {
		return list, Cursor{}, err
	}
	return slices.Clip(list[:limit]), list[limit-1].Cursor, err
}
