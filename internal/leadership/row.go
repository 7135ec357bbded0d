package leadership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
)

var q = dbsqlc.New()

// row is the register of an office: its row of the table leadership.
type row struct {
	db           *db.DB
	name, holder string
}

func (r *row) seek(ctx context.Context) (won grant, left time.Duration, err error) {
	err = r.db.InNone(ctx, func(tx db.Tx) error {
		got, err := q.LeadershipAcquire(ctx, tx, dbsqlc.LeadershipAcquireParams{
			Name: r.name, Holder: r.holder, LeaseSeconds: lease.Seconds()})
		if err == nil {
			won = grant{term: got}
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("seek office: %w", err)
		}
		seconds, err := q.LeadershipLeft(ctx, tx, r.name)
		if err != nil {
			return fmt.Errorf("read office: %w", err)
		}
		left = time.Duration(seconds * float64(time.Second))
		return nil
	})
	if err != nil {
		return grant{}, 0, err
	}
	return won, left, nil
}

func (r *row) renew(ctx context.Context, term int64) (granted bool, err error) {
	err = r.db.InNone(ctx, func(tx db.Tx) error {
		n, err := q.LeadershipRenew(ctx, tx, dbsqlc.LeadershipRenewParams{
			Name: r.name, Holder: r.holder, Term: term, LeaseSeconds: lease.Seconds()})
		granted = n == 1
		return err
	})
	return granted && err == nil, err
}

func (r *row) resign(ctx context.Context, term int64) error {
	return r.db.InNone(ctx, func(tx db.Tx) error {
		_, err := q.LeadershipResign(ctx, tx, dbsqlc.LeadershipResignParams{Name: r.name, Holder: r.holder, Term: term})
		return err
	})
}

// Report is what a leader did in its term.
type Report struct {
	LastCycle time.Time // by this process's clock
	Cycles    int64
	Stats     map[string]int64
}

// ReportTx writes down what was done in a term of this process, and reports
// whether the term is still the last one.
func (o *Office) ReportTx(ctx context.Context, tx db.Tx, term int64, r Report) (bool, error) {
	stats, err := json.Marshal(r.Stats)
	if err != nil {
		return false, fmt.Errorf("encode stats: %w", err)
	}
	n, err := q.LeadershipReport(ctx, tx, dbsqlc.LeadershipReportParams{Name: o.name, Holder: o.holder, Term: term,
		AgeSeconds: time.Since(r.LastCycle).Seconds(), CycleCount: r.Cycles, Stats: stats})
	if err != nil {
		return false, fmt.Errorf("report cycles: %w", err)
	}
	return n == 1, nil
}

// Standing is who leads, or led last.
type Standing struct {
	Active      bool // the lease goes on
	Holder      string
	Term        int64
	Since       time.Time
	ExpiresAt   time.Time
	LastCycleAt *time.Time
	Cycles      int64
	Stats       map[string]int64
	Now         time.Time
}

// Standing reads who leads; the zero value where nobody ever did.
func (o *Office) Standing(ctx context.Context) (Standing, error) {
	var s Standing
	err := o.db.InNone(ctx, func(tx db.Tx) error {
		r, err := q.LeadershipGet(ctx, tx, o.name)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read office: %w", err)
		}
		s = Standing{Active: r.Active, Holder: r.Holder, Term: r.Term, Since: r.AcquiredAt, ExpiresAt: r.ExpiresAt,
			LastCycleAt: r.LastCycleAt, Cycles: r.CycleCount, Now: r.Now}
		if err := json.Unmarshal(r.Stats, &s.Stats); err != nil {
			return fmt.Errorf("stats of the office: %w", err)
		}
		return nil
	})
	return s, err
}
