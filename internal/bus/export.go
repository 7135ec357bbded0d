package bus

import (
	"context"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Source is what an export writes elsewhere.
type Source string

// What can be exported.
const (
	Messages Source = "messages"
	Events   Source = "events"
)

// Export is a position of somebody who writes messages or events elsewhere.
type Export struct {
	Name      string     `json:"name"`
	Source    Source     `json:"source"`
	Position  string     `json:"position"` // up to where it was acknowledged, "" at the beginning
	CreatedBy string     `json:"created_by"`
	CreatedAt time.Time  `json:"created_at"`
	AckedAt   *time.Time `json:"acked_at"`
	handed    string     // up to where lines were given out
}

// Line is a message or an event with its position.
type Line struct {
	Position string
	Message  *Message
	Event    *eventlog.Event
}

// MaxExports is how many exports a workspace has.
const MaxExports = 100

// exports are the positions of a database's exports.
type exports struct{ db *db.DB }

// Exports lists the exports of a workspace by name. They are for those who run the fleet.
func (x *exports) Exports(ctx context.Context, who tenancy.Principal) (list []Export, err error) {
	err = x.exporting(ctx, who, func(tx db.Tx) error {
		list, err = exportsTx(ctx, tx, who.Workspace)
		return err
	})
	return list, err
}

// CreateExport makes an export that begins with the oldest that is kept; the same name and
// source again give the one that is there. once is nil where the request is not sent again.
//
// Faults: Validation; AlreadyExists for a name that exports something else; TooMany.
func (x *exports) CreateExport(ctx context.Context, who tenancy.Principal, name string, source Source, once *idempotency.Key) (
	e Export, err error,
) {
	p := fault.Problems{}
	p.Name("name", name, MaxExportName)
	if name == "" {
		p.Add("name", "It must be given.")
	}
	if err := p.Err(); err != nil {
		return e, err
	}
	err = x.exporting(ctx, who, func(tx db.Tx) error {
		e, err = idempotency.OnceTx(ctx, tx, who, once, func() (Export, error) {
			made, err := createExportTx(ctx, tx, who, name, source)
			if err == nil && made.Source != source {
				err = fault.New(fault.AlreadyExists, "The export %s is one of %s.", name, made.Source)
			}
			return made, err
		})
		return err
	})
	return e, err
}

// MaxExportName bounds the name of an export, in characters.
const MaxExportName = 64

// Next reads what follows an export's position, or one behind it, the oldest first. position
// is that of the last line, where there is none the place that was read from.
//
// Faults: NotFound; Validation for a position of which this server knows nothing.
func (x *exports) Next(ctx context.Context, who tenancy.Principal, name, after string, limit int) (
	list []Line, position string, err error,
) {
	err = x.exporting(ctx, who, func(tx db.Tx) error {
		e, err := exportTx(ctx, tx, who.Workspace, name, false)
		if err != nil {
			return err
		}
		at, err := e.place("after", e.Position)
		if err != nil {
			return err
		}
		if after != "" {
			ahead, err := e.place("after", after)
			if err != nil {
				return err
			}
			if at.before(ahead) {
				at = ahead
			}
		}
		position = at.String()
		if list, err = at.read(ctx, tx, who.Workspace, limit); err != nil || len(list) == 0 {
			return err
		}
		position = list[len(list)-1].Position
		return e.handOutTx(ctx, tx, who, position)
	})
	return list, position, err
}

// handOutTx keeps that lines up to a position were given out, where it lies ahead.
func (e Export) handOutTx(ctx context.Context, tx db.Tx, who tenancy.Principal, position string) error {
	before, err := e.place("after", e.handed)
	if err != nil {
		return err
	}
	to, err := e.place("after", position)
	if err != nil || !before.before(to) {
		return err
	}
	return q.ExportHandOut(ctx, tx, position, who.Workspace, e.Name)
}

// AckExport moves an export's position on. One that does not lie behind its own does
// nothing. Faults: NotFound; Validation for a position that was not given out.
func (x *exports) AckExport(ctx context.Context, who tenancy.Principal, name, position string) (e Export, err error) {
	err = x.exporting(ctx, who, func(tx db.Tx) error {
		if e, err = exportTx(ctx, tx, who.Workspace, name, true); err != nil {
			return err
		}
		from, err := e.place("position", e.Position)
		if err != nil {
			return err
		}
		to, err := e.parseGiven(position)
		if err != nil || !from.before(to) {
			return err
		}
		e, err = moveExportTx(ctx, tx, who.Workspace, name, position)
		return err
	})
	return e, err
}

// ResetExport moves an export back to a position that was given out, "" for the beginning:
// what follows is given out again, and whoever has written it already is refused from then
// on. once is nil where the request is not sent again. Faults: NotFound; Validation for a
// position that was not given out.
func (x *exports) ResetExport(ctx context.Context, who tenancy.Principal, name, position string, once *idempotency.Key) (
	e Export, err error,
) {
	err = x.exporting(ctx, who, func(tx db.Tx) error {
		e, err = idempotency.OnceTx(ctx, tx, who, once, func() (Export, error) {
			before, err := exportTx(ctx, tx, who.Workspace, name, true)
			if err != nil {
				return before, err
			}
			if _, err := before.parseGiven(position); err != nil {
				return before, err
			}
			after, err := resetExportTx(ctx, tx, who.Workspace, name, position)
			if err != nil {
				return after, err
			}
			return after, eventlog.RecordTx(ctx, tx, who, eventlog.ExportReset, after.facts(),
				eventlog.Change{Field: "position", Old: before.Position, New: after.Position})
		})
		return err
	})
	return e, err
}

// DeleteExport removes an export; messages are not kept for it any more. confirm has to be
// its name. Faults: NotFound; Validation.
func (x *exports) DeleteExport(ctx context.Context, who tenancy.Principal, name, confirm string) error {
	return x.exporting(ctx, who, func(tx db.Tx) error {
		e, err := exportTx(ctx, tx, who.Workspace, name, true)
		if err != nil {
			return err
		}
		if confirm != name {
			return fault.Invalid("confirm", "It must be the name of the export, %s.", name)
		}
		if err := q.ExportDelete(ctx, tx, who.Workspace, name); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.ExportRemoved, e.facts(),
			eventlog.Change{Field: "position", Old: e.Position, New: nil})
	})
}

// facts name the export in an event.
func (e Export) facts() map[string]any { return map[string]any{"export": e.Name, "source": e.Source} }

// exporting runs a step for those who may export.
func (x *exports) exporting(ctx context.Context, who tenancy.Principal, step func(db.Tx) error) error {
	if !who.Can(tenancy.RunFleet) {
		return fault.New(fault.Forbidden, "Only owners and admins export.")
	}
	return x.db.In(ctx, db.Workspace(who.Workspace), step, db.ByIndex)
}

// exportPlace is a position in messages or in events.
type exportPlace struct {
	source Source
	seq    int64
	cursor eventlog.Cursor
}

// place reads a position of an export's source.
func (e Export) place(field, text string) (exportPlace, error) {
	p := exportPlace{source: e.Source}
	var err error
	if e.Source == Events {
		p.cursor, err = eventlog.ParseCursor(text)
	} else if text != "" {
		p.seq, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil || p.seq < 0 {
		return p, fault.Invalid(field, "It must be a position that this server gave out.")
	}
	return p, nil
}

// String returns the position as it is given out, "" for the beginning.
func (p exportPlace) String() string {
	switch {
	case p == exportPlace{source: p.source}:
		return ""
	case p.source == Events:
		return p.cursor.String()
	}
	return strconv.FormatInt(p.seq, 10)
}

// parseGiven reads a position that was given out, or "" for the beginning.
func (e Export) parseGiven(text string) (exportPlace, error) {
	to, err := e.place("position", text)
	if err != nil {
		return to, err
	}
	most, err := e.place("position", e.handed)
	if err == nil && most.before(to) {
		err = fault.Invalid("position", "It must be one that this export gave out: the position of a line that was read.")
	}
	return to, err
}

func (p exportPlace) before(other exportPlace) bool {
	return p.seq < other.seq || p.cursor.Before(other.cursor)
}

// read reads what follows a place.
func (p exportPlace) read(ctx context.Context, tx db.Tx, workspace ids.ID, limit int) (list []Line, err error) {
	if p.source == Events {
		events, err := eventlog.TailTx(ctx, tx, workspace, p.cursor, limit)
		for i := range events {
			list = append(list, Line{Position: events[i].Cursor.String(), Event: &events[i]})
		}
		return list, err
	}
	messages, err := tailTx(ctx, tx, workspace, p.seq, limit)
	for i := range messages {
		list = append(list, Line{Position: exportPlace{source: Messages, seq: messages[i].Seq}.String(), Message: &messages[i]})
	}
	return list, err
}
