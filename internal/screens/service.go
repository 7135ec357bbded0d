package screens

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Subscriber delivers topics that were published in any process.
type Subscriber interface {
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// Service reads the board.
type Service struct {
	db    *db.DB
	log   *slog.Logger
	feeds *feeds
	fleet *fleetCache
	// snapshot runs the reads of one page. Tests come between its statements.
	snapshot func(ctx context.Context, workspace ids.ID, fn func(db.Tx) error) error
}

// New returns the board of the jobs kept in d. Close ends the live changes.
func New(d *db.DB, events *eventlog.Log, wake Subscriber, log *slog.Logger) *Service {
	s := &Service{db: d, log: log, snapshot: snapshots(d)}
	s.feeds = newFeeds(s, events, wake)
	s.fleet = newFleetCache(s.readFleet, wake)
	return s
}

func snapshots(d *db.DB) func(context.Context, ids.ID, func(db.Tx) error) error {
	return func(ctx context.Context, workspace ids.ID, fn func(db.Tx) error) error {
		return d.In(ctx, db.Workspace(workspace), fn, db.Snapshot)
	}
}

// Close ends every Watch.
func (s *Service) Close() {
	s.feeds.close()
	s.fleet.unsubscribe()
}

// Board reads the first page of every column and what the page around them
// shows.
func (s *Service) Board(ctx context.Context, who tenancy.Principal, f Filter) (Board, error) {
	var b Board
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) error {
		r, around, err := pageContext(ctx, tx, who)
		if err != nil {
			return err
		}
		b.PageContext = around
		if b.Columns, err = r.columns(f, Columns); err != nil {
			return err
		}
		for _, c := range b.Columns {
			b.Total, b.TotalCapped = b.Total+c.Count, b.TotalCapped || c.Capped
		}
		b.Unroutable, err = r.unroutable()
		return err
	})
	return b, err
}

// PageContext reads what a page other than the board shows of its workspace.
func (s *Service) PageContext(ctx context.Context, who tenancy.Principal) (PageContext, error) {
	var around PageContext
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) (err error) {
		_, around, err = pageContext(ctx, tx, who)
		return err
	})
	return around, err
}

func pageContext(ctx context.Context, tx db.Tx, who tenancy.Principal) (*reader, PageContext, error) {
	// The place in the log first: what happens from here on is news.
	cursor, err := eventlog.HeadTx(ctx, tx)
	if err != nil {
		return nil, PageContext{}, err
	}
	r, err := newReader(ctx, tx, who.Workspace)
	if err != nil {
		return nil, PageContext{}, err
	}
	around := PageContext{Cursor: cursor.String(), Fleet: r.snap}
	return r, around, r.menus(&around)
}

// ColumnPage reads a page of one column: the first where after is "", else the
// one after that cursor.
func (s *Service) ColumnPage(ctx context.Context, who tenancy.Principal, f Filter, c Column, after string) (ColumnPage, error) {
	var page ColumnPage
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) error {
		r, err := newReader(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		page, err = r.column(f, c, after)
		return err
	})
	return page, err
}

// ColumnPages reads the first pages of some columns, in the order requested.
func (s *Service) ColumnPages(ctx context.Context, who tenancy.Principal, f Filter, list ...Column) ([]ColumnPage, error) {
	var pages []ColumnPage
	if len(list) == 0 {
		return nil, nil
	}
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) error {
		r, err := newReader(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		pages, err = r.columns(f, list)
		return err
	})
	return pages, err
}

// Cards reads jobs as cards, in the order requested; archived and unknown ones
// are left out.
func (s *Service) Cards(ctx context.Context, who tenancy.Principal, list ...ids.ID) ([]Card, error) {
	var cards []Card
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) error {
		r, err := newReader(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		cards, err = r.cards(list)
		return err
	})
	return cards, err
}

// maxLeased is how many of the jobs in work are read for a page.
const maxLeased = 1000

// Leased reads the jobs that agents work on, the newest first, at most maxLeased.
func (s *Service) Leased(ctx context.Context, who tenancy.Principal) ([]jobs.Job, error) {
	var list []jobs.Job
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) error {
		found, err := leasedTx(ctx, tx, who.Workspace)
		if err != nil || len(found) == 0 {
			return err
		}
		if list, err = jobs.LoadManyTx(ctx, tx, who.Workspace, found); err != nil {
			return err
		}
		slices.SortFunc(list, func(a, b jobs.Job) int { return strings.Compare(b.ID.String(), a.ID.String()) })
		return nil
	})
	return list, err
}

// Unroutable reads the first ready jobs that no live factory can run, and how
// many there are.
func (s *Service) Unroutable(ctx context.Context, who tenancy.Principal) (Unroutable, error) {
	var u Unroutable
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) error {
		r, err := newReader(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		u, err = r.unroutable()
		return err
	})
	return u, err
}

// Explain says why a job is where it is. NotFound where there is none.
func (s *Service) Explain(ctx context.Context, who tenancy.Principal, keyOrID string) (Explanation, error) {
	var e Explanation
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) (err error) {
		e, _, err = explainTx(ctx, tx, who, keyOrID)
		return err
	})
	return e, err
}

// explainTx explains a job, by the fleet that it gives too.
func explainTx(ctx context.Context, tx db.Tx, who tenancy.Principal, keyOrID string) (Explanation, fleet.Snapshot, error) {
	job, err := jobs.LoadTx(ctx, tx, who.Workspace, keyOrID)
	if err != nil {
		return Explanation{}, fleet.Snapshot{}, err
	}
	r, err := newReader(ctx, tx, who.Workspace)
	if err != nil {
		return Explanation{}, r.snap, err
	}
	known, err := r.facts([]jobs.Job{job})
	if err != nil {
		return Explanation{}, r.snap, err
	}
	if job.Status == jobs.Ready {
		if known.seats, err = r.seatHolders(r.snap.Route(toNeeds(job))); err != nil {
			return Explanation{}, r.snap, err
		}
		if known.standing, err = r.readStanding(job); err != nil {
			return Explanation{}, r.snap, err
		}
	}
	if job.Status == jobs.Ready || job.Lease.GivesSeat() {
		if known.seat, err = readSeat(r, job); err != nil {
			return Explanation{}, r.snap, err
		}
	}
	told, err := r.readDelivery(job)
	if err != nil {
		return Explanation{}, r.snap, err
	}
	known.refused = told.refusal()
	if job.Status == jobs.Approved {
		if known.merge, err = r.mergeReason(job, told); err != nil {
			return Explanation{}, r.snap, err
		}
	}
	if job.Status == jobs.InReview && job.VerifyMode == jobs.VerifyByAgent {
		if known.verification, err = (verifications{r}).verificationReason(job); err != nil {
			return Explanation{}, r.snap, err
		}
	}
	if known.held, err = r.readHeld(job); err != nil {
		return Explanation{}, r.snap, err
	}
	if job.Status == jobs.Ready || job.Status == jobs.Waiting {
		list, err := r.poolList()
		if err != nil {
			return Explanation{}, r.snap, err
		}
		known.pool = pools.Startable(list, job.Product, toNeeds(job), r.snap)
	}
	return known.explain(job), r.snap, nil
}
