package vitals

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/leadership/servers"
)

var q = dbsqlc.New()

// sampleTx reads PostgreSQL's counters, and the sums of the server's own, in one round trip.
func sampleTx(ctx context.Context, tx db.Tx) (Sample, error) {
	s := Sample{At: time.Now(), Jobs: map[string]int64{}, Budgets: map[string]int64{}}
	err := tx.Pipeline(ctx, s.readAge(ctx), s.readTables(ctx), s.readJobs(ctx), s.readLeases(ctx), s.readFleet(ctx), s.readBudgets(ctx),
		s.readServers(ctx))
	return s, err
}

func (s *Sample) readAge(ctx context.Context) func(db.Tx) error {
	return func(tx db.Tx) error {
		age, err := q.DatabaseAge(ctx, tx)
		s.OldestTransaction, s.OldestSnapshot = seconds(age.OldestTransactionSeconds), seconds(age.OldestSnapshotSeconds)
		s.SnapshotTransactions, s.UnseenSessions = age.OldestSnapshotTransactions, age.UnseenSessions
		return err
	}
}

func (s *Sample) readTables(ctx context.Context) func(db.Tx) error {
	return func(tx db.Tx) error {
		rows, err := q.TableVitals(ctx, tx)
		for _, r := range rows {
			s.Tables = append(s.Tables, Table(r))
		}
		return err
	}
}

func (s *Sample) readJobs(ctx context.Context) func(db.Tx) error {
	return func(tx db.Tx) error {
		rows, err := q.JobTotals(ctx, tx)
		for _, r := range rows {
			s.Jobs[r.Status] = r.Jobs
		}
		return err
	}
}

func (s *Sample) readLeases(ctx context.Context) func(db.Tx) error {
	return func(tx db.Tx) error {
		r, err := q.LeaseTotals(ctx, tx)
		s.Leases = Leases{All: r.Leases, Seats: r.Seats, Overdue: r.Overdue, LongestOverdue: seconds(r.OverdueSeconds)}
		return err
	}
}

func (s *Sample) readFleet(ctx context.Context) func(db.Tx) error {
	return func(tx db.Tx) error {
		r, err := q.FleetTotals(ctx, tx)
		s.Agents = map[string]int64{"healthy": r.Healthy, "warn": r.Warn, "stale": r.Stale, "dead": r.Dead}
		s.Factories, s.Seats = map[string]int64{"alive": r.FactoriesAlive, "dead": r.FactoriesDead}, r.Seats
		return err
	}
}

func (s *Sample) readBudgets(ctx context.Context) func(db.Tx) error {
	return func(tx db.Tx) error {
		rows, err := q.BudgetTotals(ctx, tx)
		for _, r := range rows {
			s.Budgets[r.Verdict] = r.Budgets
		}
		return err
	}
}

func (s *Sample) readServers(ctx context.Context) func(db.Tx) error {
	return func(tx db.Tx) error {
		r, err := q.LeadershipTotals(ctx, tx, servers.Lately.Seconds())
		s.Led, s.CycleAge, s.Servers = r.Active, seconds(r.CycleAgeSeconds), r.Servers
		return err
	}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
