package proof

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// Kind is what has happened to the database.
type Kind string

// The kinds.
const (
	// Promoted is the same cluster on another timeline: a standby was promoted, or a point in time restored.
	Promoted Kind = "promoted"
	// Moved is another cluster: the rows were restored into it, or PostgreSQL was upgraded.
	Moved Kind = "moved"
)

// Proof is a look at everything.
type Proof struct {
	ID         int64
	Kind       Kind
	Timeline   int64
	NoticedAt  time.Time
	DoneAt     *time.Time // nil while it is looked at
	Looker     string     // the process
	Workspaces int64
	Jobs       int64
	Found      int64           // how often a rule was broken
	Findings   []audit.Finding // the first audit.MaxFindings
	Blind      string          // what could not be looked at, "" where everything was
}

// List returns the newest proofs, the newest first.
func (s *Service) List(ctx context.Context) (list []Proof, err error) {
	err = s.db.In(ctx, db.None, func(tx db.Tx) error {
		list, err = proofsTx(ctx, tx)
		return err
	}, db.OneRead)
	if err != nil {
		return nil, fmt.Errorf("read proofs: %w", err)
	}
	return list, nil
}

// prove carries out the proof that is due, if there is one that nobody is at work on.
func (s *Service) prove(ctx context.Context) error {
	var id int64
	err := s.db.In(ctx, db.None, func(tx db.Tx) (err error) {
		id, err = takeTx(ctx, tx, s.instance)
		return err
	})
	if err != nil || id == 0 {
		return err
	}
	looking, end := context.WithCancel(ctx)
	defer end()
	go s.keep(looking, id, end)
	p := s.everything(looking)
	p.ID, p.Looker = id, s.instance
	if err := looking.Err(); err != nil {
		return fmt.Errorf("a look at the database was not finished: %w", err)
	}
	if err := s.db.In(ctx, db.None, func(tx db.Tx) error { return doneTx(ctx, tx, p) }); err != nil {
		return fmt.Errorf("write down what was found: %w", err)
	}
	if p.Found > 0 || p.Blind != "" {
		s.log.ErrorContext(ctx, "another PostgreSQL answers, and not everything in it is right: run fleetboard audit and verify-log",
			"found", p.Found, "not_looked_at", p.Blind)
	} else {
		s.log.InfoContext(ctx, "another PostgreSQL answers, and its rows and its log agree", "jobs", p.Jobs)
	}
	return nil
}

// keep says that this process still looks, and ends the look where another one has taken over.
func (s *Service) keep(ctx context.Context, id int64, end func()) {
	for signal.Sleep(ctx, renewEvery) == nil {
		var mine bool
		err := s.db.In(ctx, db.None, func(tx db.Tx) (err error) {
			mine, err = renewTx(ctx, tx, id, s.instance)
			return err
		})
		if err == nil && !mine {
			end()
		}
	}
}

// everything runs audit, with seals, and verify-log.
func (s *Service) everything(ctx context.Context) Proof {
	var p Proof
	seals, err := s.seals(ctx)
	var rows audit.Report
	if err == nil {
		rows, err = audit.RunWithSeals(ctx, s.db, seals)
	} else {
		var unsealed error
		rows, unsealed = audit.Run(ctx, s.db)
		err = errors.Join(fmt.Errorf("the seals of the logs: %w", err), unsealed)
	}
	log, logErr := audit.Verify(ctx, s.db)
	p.Workspaces, p.Jobs = int64(rows.Workspaces), int64(rows.Jobs)
	p.Found = int64(rows.Found() + log.Found())
	p.Findings = append(rows.Findings, log.Findings...)
	p.Findings = p.Findings[:min(len(p.Findings), audit.MaxFindings)]
	if err := errors.Join(err, logErr); err != nil {
		p.Blind = err.Error()
	}
	return p
}
