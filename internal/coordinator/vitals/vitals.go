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
}

// Table is what PostgreSQL counted of one table. Live and Dead are its estimates.
type Table struct {
	Name                string
	Live, Dead          int64
	Updates, HotUpdates int64
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

// Sample gives a sample that is at most a few seconds old. It reads counters only,
// no row of any table.
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
