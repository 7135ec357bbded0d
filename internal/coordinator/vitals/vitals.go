package vitals

import (
	"context"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/db"
)

// fresh is how long a sample is returned again: however many call, the database is
// queried once in this time by a process.
const fresh = 5 * time.Second

// Sample is how the database was at one moment, with all workspaces together.
type Sample struct {
	At     time.Time
	Tables []Table // by name
	// OldestTransaction is how long the oldest transaction has been running, and
	// OldestSnapshot the oldest one that keeps dead rows from being removed.
	OldestTransaction, OldestSnapshot time.Duration
	// SnapshotTransactions is how many transactions began since the oldest snapshot,
	// of a session, a prepared transaction or a replication slot.
	SnapshotTransactions int64
	// UnseenSessions are those of other logins, of which nothing is known because
	// the owner is no member of pg_read_all_stats.
	UnseenSessions int

	// Jobs are by status, Budgets by the verdict of their projection, Agents that nobody has ended by
	// their health, and Factories by whether an agent of theirs lives ("alive", "dead").
	Jobs, Budgets, Agents, Factories map[string]int64
	// Seats are those of the living factories.
	Seats  int64
	Leases Leases
	// Led is true while somebody leads, CycleAge how old the last cycle is, Servers how many live.
	Led      bool
	CycleAge time.Duration
	Servers  int64
}

// Leases are those of all workspaces.
type Leases struct {
	All int64
	// Seats are those that take one.
	Seats int64
	// Overdue are those that have run out and were not taken back yet, the longest for so long.
	Overdue        int64
	LongestOverdue time.Duration
}

// Table is what PostgreSQL counted of one table. Live and Dead are its estimates.
type Table struct {
	Name                string
	Live, Dead          int64
	Updates, HotUpdates int64
	Inserts             int64
	Vacuums             int64
}

// Service takes samples.
type Service struct {
	db *db.DB

	mu   sync.Mutex
	last Sample
}

// New returns the vitals of the database d.
func New(d *db.DB) *Service { return &Service{db: d} }

// Sample gives a sample that is at most a few seconds old. It reads counters, and tables that
// have a row for each product, agent, budget or lease: nothing that grows with the jobs there ever were.
func (s *Service) Sample(ctx context.Context) (Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last.At) < fresh {
		return s.last, nil
	}
	var sample Sample
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		sample, err = sampleTx(ctx, tx)
		return err
	})
	if err == nil {
		s.last = sample
	}
	return sample, err
}
