package budgets

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Row is what one usage entry took of a period at one time, also where a part of it was reserved
// and the rest was not; else it is a line.
type Row struct {
	Line

	Agent, Provider, Model string // "" where there is none
	// Added and Taken are by how much it changed what is left of the limit: what was granted, raised
	// or transferred to it, and what was settled or transferred from it.
	Added, Taken Amounts
	// Held is by how much it changed what leases have reserved; below 0 where they used or freed it.
	Held Amounts
	// Left is the limit less what was settled, after it. Only where rows of all kinds are read.
	Left Amounts
}

// RowsQuery says which rows are read.
type RowsQuery struct {
	Period time.Time // by its start; the zero value is the present one
	Kinds  []Kind    // none is all
	From   RowCursor // the zero value begins with the newest
	Limit  int
}

// RowCursor is the row with which a page begins.
type RowCursor struct {
	line int64   // the newest that the row is of
	skip int     // newer rows of the same line
	left Amounts // after the row
}

// Rows is a page of rows, the newest first.
type Rows struct {
	Rows []Row
	Next string // the cursor of the next page, "" at the end
	// Period is how the period stands. One that nobody has opened has no rows.
	Period State
}

// MaxRows is how many rows a page has at most.
const MaxRows = 500

// String writes a cursor for an address.
func (c RowCursor) String() string {
	return fmt.Sprintf("%d.%d.%d.%d.%d", c.line, c.skip, c.left.Money, c.left.Tokens, c.left.Runs)
}

// ParseRowCursor reads what String writes. Validation of the field.
func ParseRowCursor(field, text string) (c RowCursor, err error) {
	parts := strings.Split(text, ".")
	numbers := make([]int64, len(parts))
	for i, part := range parts {
		if numbers[i], err = strconv.ParseInt(part, 10, 64); err != nil {
			break
		}
	}
	if err != nil || len(numbers) != 5 || numbers[0] < 1 || numbers[1] < 0 || numbers[1] > math.MaxInt32 {
		return c, fault.Invalid(field, "It must be one that this server gave out.")
	}
	return RowCursor{line: numbers[0], skip: int(numbers[1]),
		left: Amounts{Money: spend.Nanos(numbers[2]), Tokens: numbers[3], Runs: numbers[4]}}, nil
}

// Rows reads the ledger of a period, one row for each usage entry. Forbidden; NotFound;
// Validation.
func (s *Service) Rows(ctx context.Context, who tenancy.Principal, id ids.ID, query RowsQuery) (page Rows, err error) {
	if err := mayRead(who); err != nil {
		return page, err
	}
	if err := checkKinds(query.Kinds); err != nil {
		return page, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		b, err := getTx(ctx, tx, who.Workspace, id)
		if err != nil {
			return err
		}
		if page.Period, err = periodTx(ctx, tx, who.Workspace, b, query.Period); err != nil {
			return err
		}
		if query.From.line == 0 {
			query.From = RowCursor{line: math.MaxInt64, left: page.Period.left()}
		}
		r := newRowReader(query.From.line, func(from int64, most int) ([]stored, error) {
			return storedTx(ctx, tx, who.Workspace, id, page.Period.Start, query.Kinds, from, most)
		})
		var next RowCursor
		if page.Rows, next, err = r.read(query.From, min(max(query.Limit, 1), MaxRows)); err != nil {
			return err
		}
		if next.line > 0 {
			page.Next = next.String()
		}
		return modelsTx(ctx, tx, who.Workspace, page.Rows)
	}, db.Snapshot)
	return page, err
}

func checkKinds(kinds []Kind) error {
	p := fault.Problems{}
	for i, kind := range kinds {
		if !slices.Contains(Kinds, kind) {
			p.Add(fmt.Sprintf("kind[%d]", i), "There is no such kind of line.")
		}
	}
	return p.Err()
}

// periodTx reads how a period of a budget stands: that with this start, or the present one.
func periodTx(ctx context.Context, tx db.Tx, workspace ids.ID, b Budget, start time.Time) (State, error) {
	if start.IsZero() || start.Equal(b.State.Start) {
		return b.State, nil
	}
	states, err := periodsTx(ctx, tx, workspace, []window{{budget: b.ID, start: start}}, false)
	if err != nil {
		return State{}, err
	}
	if state, open := states[b.ID]; open {
		return state, nil
	}
	return State{Start: start}, nil
}

// left returns the limits less what was settled; no limit is 0, as in the ledger.
func (s State) left() Amounts {
	left := Amounts{Money: -s.Settled.Money, Tokens: -s.Settled.Tokens, Runs: -s.Settled.Runs}
	if s.Money != nil {
		left.Money += *s.Money
	}
	if s.Tokens != nil {
		left.Tokens += *s.Tokens
	}
	if s.Runs != nil {
		left.Runs += *s.Runs
	}
	return left
}

func (a Amounts) plus(b Amounts) Amounts {
	return Amounts{Money: a.Money + b.Money, Tokens: a.Tokens + b.Tokens, Runs: a.Runs + b.Runs}
}

func (a Amounts) minus(b Amounts) Amounts {
	return Amounts{Money: a.Money - b.Money, Tokens: a.Tokens - b.Tokens, Runs: a.Runs - b.Runs}
}

// stored is a line with the entries that it is of, where they are several.
type stored struct {
	Line

	agent   string
	entries []share
}

// share is how much of a line an entry is.
type share struct {
	Amounts

	entry    string
	unpriced int64
}

// row returns the row of a line, or of an entry's share of it.
func (l stored) row(of share) Row {
	r := Row{Line: l.Line, Agent: l.agent}
	r.Amounts, r.Entry, r.UnpricedTokens = of.Amounts, of.entry, of.unpriced
	switch {
	case l.From == Outside:
		r.Added = of.Amounts
	case l.To == Outside, l.To == Consumed:
		r.Taken = of.Amounts
	}
	if l.To == InUse {
		r.Held = of.Amounts
	}
	if l.From == InUse {
		r.Held = Amounts{}.minus(of.Amounts)
	}
	return r
}

// shares returns what a line is made of.
func (l stored) shares() []share {
	if len(l.entries) > 0 {
		return l.entries
	}
	return []share{{Amounts: l.Amounts, entry: l.Entry, unpriced: l.UnpricedTokens}}
}

// completes reports whether a line is what was free of a settlement of which another line is what
// was reserved: both were written in the same moment.
func (l stored) completes(held stored) bool {
	return l.Kind == Settled && held.Kind == Settled && l.From == Free && held.From == InUse && l.JobID == held.JobID &&
		l.JobID != ids.Nil && l.Epoch == held.Epoch && l.At.Equal(held.At)
}

// unfold returns the rows of a line in the order in which its entries were charged.
func unfold(l stored) (rows []Row) {
	for _, one := range l.shares() {
		rows = append(rows, l.row(one))
	}
	return rows
}

// unfoldBoth returns the rows of a settlement: an entry that is in both lines is one row.
func unfoldBoth(held, rest stored) (rows []Row) {
	free := rest.shares()
	place := make(map[string]int, len(free))
	for i, one := range free {
		place[one.entry] = i
	}
	at := 0
	restUpTo := func(end int) {
		for ; at < end; at++ {
			rows = append(rows, rest.row(free[at]))
		}
	}
	for _, one := range held.shares() {
		i, both := place[one.entry]
		if !both || i < at {
			rows = append(rows, held.row(one))
			continue
		}
		restUpTo(i)
		row, more := held.row(one), rest.row(free[i])
		row.ID, row.Amounts, row.Taken = rest.ID, row.plus(more.Amounts), row.Taken.plus(more.Taken)
		row.UnpricedTokens = more.UnpricedTokens
		rows, at = append(rows, row), i+1
	}
	restUpTo(len(free))
	return rows
}

// A line may be of hundreds of entries: few lines are read first, then as many as have about
// batchRows rows where they are like those before.
const (
	firstLines = 4
	batchRows  = 64
)

// rowReader reads rows from the newest on.
type rowReader struct {
	from    int64 // the line to read next
	most    int   // how many lines to read next
	fetch   func(from int64, most int) ([]stored, error)
	waiting []stored
	ended   bool
}

func newRowReader(from int64, fetch func(from int64, most int) ([]stored, error)) *rowReader {
	return &rowReader{from: from, most: firstLines, fetch: fetch}
}

// peek returns the next line; false at the end.
func (r *rowReader) peek() (stored, bool, error) {
	if len(r.waiting) == 0 && !r.ended {
		list, err := r.fetch(r.from, r.most)
		if err != nil {
			return stored{}, false, err
		}
		r.waiting, r.ended = list, len(list) < r.most
		if n := len(list); n > 0 {
			rows := 0
			for _, l := range list {
				rows += max(len(l.entries), 1)
			}
			r.from, r.most = list[n-1].ID-1, max(batchRows*n/rows, firstLines)
		}
	}
	if len(r.waiting) == 0 {
		return stored{}, false, nil
	}
	return r.waiting[0], true, nil
}

// next returns the rows of the next line, or of the next two where they are one settlement, the
// newest first, and the newest line; false at the end.
func (r *rowReader) next() (rows []Row, newest int64, more bool, err error) {
	top, more, err := r.peek()
	if err != nil || !more {
		return nil, 0, false, err
	}
	r.waiting = r.waiting[1:]
	below, two, err := r.peek()
	switch {
	case err != nil:
		return nil, 0, false, err
	case two && top.completes(below):
		r.waiting = r.waiting[1:]
		rows = unfoldBoth(below, top)
	default:
		rows = unfold(top)
	}
	slices.Reverse(rows)
	return rows, top.ID, true, nil
}

// read returns at most so many rows, and where the next page begins; at the end of the period
// that is the zero value.
func (r *rowReader) read(from RowCursor, limit int) (list []Row, next RowCursor, err error) {
	skip, left := from.skip, from.left
	for {
		rows, newest, more, err := r.next()
		if err != nil || !more {
			return list, RowCursor{}, err
		}
		for i, row := range rows {
			if i < skip {
				continue
			}
			if len(list) == limit {
				return list, RowCursor{line: newest, skip: i, left: left}, nil
			}
			row.Left = left
			left = left.plus(row.Taken).minus(row.Added)
			list = append(list, row)
		}
		skip = 0
	}
}
