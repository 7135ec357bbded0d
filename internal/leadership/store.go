package leadership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
)

var q = dbsqlc.New()

// store keeps the lease of an election in its row of the table leadership.
type store struct {
	db           *db.DB
	name, holder string
}

func (s *store) acquire(ctx context.Context) (term int64, left time.Duration, err error) {
	err = s.db.In(ctx, db.None, func(tx db.Tx) error {
		var err error
		term, err = q.LeadershipAcquire(ctx, tx, s.name, s.holder, leaseDuration.Seconds())
		if err == nil {
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("acquire leadership: %w", err)
		}
		seconds, err := q.LeadershipLeft(ctx, tx, s.name)
		if err != nil {
			return err
		}
		left = time.Duration(seconds * float64(time.Second))
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	return term, left, nil
}

func (s *store) renew(ctx context.Context, term int64) (granted bool, err error) {
	err = s.db.In(ctx, db.None, func(tx db.Tx) error {
		n, err := q.LeadershipRenew(ctx, tx, leaseDuration.Seconds(), s.name, s.holder, term)
		granted = n == 1
		return err
	})
	return granted && err == nil, err
}

func (s *store) resign(ctx context.Context, term int64) error {
	return s.db.In(ctx, db.None, func(tx db.Tx) error {
		_, err := q.LeadershipResign(ctx, tx, s.name, s.holder, term)
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
func (e *Election) ReportTx(ctx context.Context, tx db.Tx, term int64, r Report) (bool, error) {
	stats, err := json.Marshal(r.Stats)
	if err != nil {
		return false, fmt.Errorf("encode stats: %w", err)
	}
	n, err := q.LeadershipReport(ctx, tx, dbsqlc.LeadershipReportParams{Name: e.name, Holder: e.holder, Term: term,
		AgeSeconds: time.Since(r.LastCycle).Seconds(), CycleCount: r.Cycles, Stats: stats})
	if err != nil {
		return false, err
	}
	return n == 1, nil
}

// Leader is who leads, or led last, and what was done in the term.
type Leader struct {
	Active      bool   // the lease goes on
	Holder      string // "" before the first
	Term        int64
	Since       *time.Time // when the term began
	ExpiresAt   *time.Time
	LastCycleAt *time.Time
	Cycles      int64
	Stats       map[string]int64
	Now         time.Time // the database's clock
}

// Leader reads who leads; term 0 where nobody ever did.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	leader := Leader{Stats: map[string]int64{}}
	err := e.db.In(ctx, db.None, func(tx db.Tx) error {
		r, err := q.LeadershipGet(ctx, tx, e.name)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		leader = Leader{Active: r.Active, Holder: r.Holder, Term: r.Term, Since: &r.AcquiredAt, ExpiresAt: &r.ExpiresAt,
			LastCycleAt: r.LastCycleAt, Cycles: r.CycleCount, Now: r.Now}
		if err := json.Unmarshal(r.Stats, &leader.Stats); err != nil {
			return fmt.Errorf("stats of a term: %w", err)
		}
		return nil
	})
	return leader, err
}
