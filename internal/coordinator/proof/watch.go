package proof

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/eventlog/loss"
	"github.com/fleetboard/fleetboard/internal/eventlog/witness"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

const (
	// lookEvery is how often a server looks which PostgreSQL answers.
	lookEvery = 2 * time.Second
	// proveTimeout bounds a look at everything.
	proveTimeout = 6 * time.Hour
	// renewEvery is how often who looks says that it still does; silence of 30 s ends its turn.
	renewEvery = 10 * time.Second
)

// Seals returns what checks the logs against their seals and marks.
type Seals func(ctx context.Context) (audit.Seals, error)

// Service proves after a change of PostgreSQL that nothing is missing, or says what is.
type Service struct {
	db       *db.DB
	seals    Seals
	witness  *witness.Witness
	losses   *loss.Service
	log      *slog.Logger
	instance string

	// Read and written by the loop alone.
	started bool
	seen    int64 // the newest proof that this server has compared its witness for
}

// New returns the service of the process that calls itself instance.
func New(d *db.DB, w *witness.Witness, seals Seals, losses *loss.Service, instance string, log *slog.Logger) *Service {
	return &Service{db: d, witness: w, seals: seals, losses: losses, instance: instance, log: log}
}

// Run looks which PostgreSQL answers until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	return runloop.Run(ctx, s.log,
		runloop.Loop{Name: "identity of the database", Every: lookEvery, Jitter: lookEvery / 4, Do: s.look},
		runloop.Loop{Name: "proof of the database", Every: lookEvery, Jitter: lookEvery / 4, Timeout: proveTimeout, Do: s.prove})
}

// identity is which PostgreSQL answers.
type identity struct {
	System   string
	Timeline int64
}

// look notices another PostgreSQL, and compares what this server has seen with what is there, once
// after the start and after each proof that became due.
func (s *Service) look(ctx context.Context) error {
	var now, known identity
	var newest int64
	err := s.db.In(ctx, db.None, func(tx db.Tx) (err error) {
		now, known, newest, err = identityTx(ctx, tx)
		return err
	}, db.OneRead)
	if err != nil {
		return fmt.Errorf("which PostgreSQL answers: %w", err)
	}
	if now.Timeline == 0 { // a standby
		return nil
	}
	if now != known {
		if err := s.db.In(ctx, db.None, func(tx db.Tx) error { return noticeTx(ctx, tx, now) }); err != nil {
			return fmt.Errorf("notice another PostgreSQL: %w", err)
		}
		if known.Timeline > 0 {
			s.log.WarnContext(ctx, "another PostgreSQL answers: everything is looked at", "timeline", now.Timeline,
				"before", known.Timeline, "system", now.System, "system_before", known.System)
			return nil // the next look finds the proof
		}
	}
	if s.started && newest == s.seen {
		return nil
	}
	if err := s.compare(ctx, s.started); err != nil {
		return err
	}
	s.started, s.seen = true, newest
	return nil
}

// compare writes down what the database lacks of what this server has seen.
func (s *Service) compare(ctx context.Context, anew bool) error {
	lack, err := s.witness.Missing(ctx)
	if err != nil {
		return err
	}
	if anew {
		if err := s.passHighest(ctx); err != nil {
			return err
		}
		s.witness.BeginAgain()
	}
	if lack.Foreign > 0 {
		s.log.WarnContext(ctx, "the file of seen events has lines that this server did not write", "lines", lack.Foreign)
	}
	for workspace, n := range lack.Gone {
		s.log.WarnContext(ctx, "events of a workspace were seen that is not there", "workspace", workspace, "events", n)
	}
	for workspace, list := range lack.Events {
		lost, err := s.losses.RecordMissing(ctx, workspace, list)
		if err != nil {
			return err
		}
		if lost > 0 {
			s.log.ErrorContext(ctx, "the database lacks events that this server had seen", "workspace", workspace, "events", lost)
		}
	}
	return nil
}

// maxPassed is how many transactions passHighest begins at most.
const maxPassed = 200_000

// passHighest uses up the numbers of transactions that were lost. Places in the log are numbers of
// transactions: whoever reads on from a place that was lost would otherwise miss what comes below it.
func (s *Service) passHighest(ctx context.Context) error {
	highest := s.witness.Highest()
	for range maxPassed {
		var now uint64
		err := s.db.In(ctx, db.None, func(tx db.Tx) (err error) {
			now, err = transactionTx(ctx, tx)
			return err
		})
		if err != nil || now > highest {
			return err
		}
	}
	s.log.ErrorContext(ctx, "the numbers of transactions are far below those that were seen: exports and streams have to begin anew",
		"highest", highest)
	return nil
}
