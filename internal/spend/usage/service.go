package usage

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Service reads usage.
type Service struct{ db *db.DB }

// NewService returns the usage that is kept in d.
func NewService(d *db.DB) *Service { return &Service{db: d} }

// Sum is what one group used.
type Sum struct {
	spend.Usage

	Group string // what the dimension calls it
	Label string // the title of a job, "" otherwise
}

// Groups are the groups of a dimension: the dearest first, and of days and hours the
// latest.
type Groups struct {
	Sums []Sum
	// Count is how many groups there are, of which Sums may be the first.
	Count int
}

// Report is what was used within whole hours.
type Report struct {
	From, Until time.Time
	Total       spend.Usage
	By          map[Dimension]Groups
}

// Report sums up usage by dimensions, at most so many groups of each.
//
// Faults: Forbidden; Validation by field.
func (s *Service) Report(ctx context.Context, who tenancy.Principal, query Query, most int, by ...Dimension) (r Report, err error) {
	if err := mayRead(who); err != nil {
		return r, err
	}
	if err := checkDimensions(by); err != nil {
		return r, err
	}
	if query, err = query.checked(); err != nil {
		return r, err
	}
	r = Report{From: query.From, Until: query.Until, By: map[Dimension]Groups{}}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		return r.sumTx(ctx, tx, who.Workspace, query, min(max(most, 1), MaxGroups), by)
	})
	return r, err
}

// Steps are what groups were charged, by their names and then by day or hour.
type Steps map[string]map[string]spend.Nanos

// Steps returns what named groups of a dimension, products or models, were charged by day or
// hour.
//
// Faults: Forbidden; Validation by field.
func (s *Service) Steps(ctx context.Context, who tenancy.Principal, query Query, of Dimension, names []string, step Dimension) (
	list Steps, err error,
) {
	if err := mayRead(who); err != nil {
		return nil, err
	}
	if query, err = query.checked(); err != nil {
		return nil, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = stepsTx(ctx, tx, who.Workspace, query, of, names, step)
		return err
	})
	return list, err
}

// Named is a model of a provider, and how many tokens it used.
type Named struct {
	Provider, Name string
	Tokens         int64
}

// maxUnpriced is how many models without a known cost are named.
const maxUnpriced = 5

// Unpriced names the models with entries of which no cost is known, at most five, those
// with the most tokens first. Only the period of the query counts.
//
// Faults: Forbidden; Validation by field.
func (s *Service) Unpriced(ctx context.Context, who tenancy.Principal, query Query) (list []Named, err error) {
	if err := mayRead(who); err != nil {
		return nil, err
	}
	if query, err = query.checked(); err != nil {
		return nil, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = unpricedTx(ctx, tx, who.Workspace, query)
		return err
	})
	return list, err
}

// OfJobTx returns what a job used by its models, the dearest first, at most twenty.
func OfJobTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) ([]JobModel, error) {
	return modelsTx(ctx, tx, workspace, job)
}

// JobModel is what a job used of one model.
type JobModel struct {
	spend.Usage

	Provider, Model string
}

// EntryQuery says which entries are listed.
type EntryQuery struct {
	Query

	// Before is the entry whose older ones are wanted; the zero value begins with the
	// newest.
	Before Position
	Limit  int
}

// Position is where a list of entries goes on.
type Position struct {
	At  time.Time
	ID  string
	Job ids.ID
}

// String writes a position for an address.
func (p Position) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.At.UnixMicro(), 10) + " " + p.Job.String() + " " + p.ID))
}

// ParsePosition reads what String has written; "" is the beginning. False for all else.
func ParsePosition(text string) (Position, bool) {
	if text == "" {
		return Position{}, true
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	micros, rest, _ := strings.Cut(string(raw), " ")
	job, id, cut := strings.Cut(rest, " ")
	at, wrong := strconv.ParseInt(micros, 10, 64)
	p := Position{At: time.UnixMicro(at), ID: id}
	var known bool
	p.Job, known = ids.Parse(job)
	written := err == nil && wrong == nil && cut && known
	return p, written && at > 0 && p.At.Before(newest.At) && utf8.ValidString(id) && !strings.Contains(id, "\x00")
}

// Entry is a usage entry with what it is booked under.
type Entry struct {
	spend.Usage

	ID        string
	BookedAt  time.Time // whose price, hour and periods it counts in
	At        time.Time // as its agent said
	JobID     ids.ID
	JobKey    string // "" where the job is gone
	Epoch     int64
	Product   string
	Phase     string
	Repo      string
	Agent     string
	Factory   string
	Provider  string
	Model     string
	Session   string
	Operation string
	// ComputedNanos and ReportedNanos are nil where they are unknown.
	ComputedNanos, ReportedNanos *spend.Nanos
	// Price is the price that it was booked by: below zero a built-in one, nil for none.
	Price *int64
	Late  bool // reported after its lease had ended
	Batch bool // used in a provider's batch
}

// Entries lists usage entries by the instant that they are booked at, newest first, and
// says whether there are more.
//
// Faults: Forbidden; Validation by field.
func (s *Service) Entries(ctx context.Context, who tenancy.Principal, query EntryQuery) (list []Entry, more bool, err error) {
	if err := mayRead(who); err != nil {
		return nil, false, err
	}
	if query.Query, err = query.checked(); err != nil {
		return nil, false, err
	}
	limit := min(max(query.Limit, 1), MaxEntries)
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = entriesTx(ctx, tx, who.Workspace, query, limit+1)
		return err
	})
	if len(list) > limit {
		return list[:limit], true, err
	}
	return list, false, err
}

// Position is where the entry stands in the list.
func (e Entry) Position() Position { return Position{At: e.BookedAt, ID: e.ID, Job: e.JobID} }

func mayRead(who tenancy.Principal) error {
	if !who.Can(tenancy.ReadBoard) {
		return fault.New(fault.Forbidden, "Only members of the workspace read usage.")
	}
	return nil
}
