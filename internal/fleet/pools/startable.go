package pools

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Start is a factory that a pool can start for a job.
type Start struct {
	Pool string
	// ColdStart is how long that takes by what was measured, 0 where nothing was.
	ColdStart time.Duration
	// Maximum is how many factories the pool may have, set where it has them all: then the job
	// waits until one of them is free.
	Maximum int
	// Lacks is what the job needs and a live factory of the pool does not offer, though the pool's
	// template does: another one would be no better.
	Lacks []string
	// Stalled is Pool.Stalled.
	Stalled bool
}

// ColdStartSeconds is Pool.ColdStartSeconds.
func (s Start) ColdStartSeconds() *int { return Pool{ColdStart: s.ColdStart}.ColdStartSeconds() }

// IsExpected reports whether a factory for the job can be expected without anything that a person does.
func (s *Start) IsExpected() bool { return s != nil && len(s.Lacks) == 0 && !s.Stalled }

// rank orders starts, that which comes soonest first.
func (s *Start) rank() int {
	switch {
	case s.IsExpected() && s.Maximum == 0:
		return 0
	case s.IsExpected():
		return 1
	case s.Stalled:
		return 2
	}
	return 3
}

// Startable returns the pool that can start a factory for a job of a product with some needs: one
// from which a factory can be expected before another, and one that is not at its maximum before one
// that is; nil where none fits. A job that names a factory waits for that one.
func Startable(list []Pool, product string, needs fleet.Needs, snap fleet.Snapshot) *Start {
	if needs.Factory != "" {
		return nil
	}
	var found []*Start
	for _, p := range list {
		if p.Max == 0 || !p.fits(product, needs.Tokens()) {
			continue
		}
		s := &Start{Pool: p.Name, ColdStart: p.ColdStart, Stalled: p.Stalled, Lacks: p.lacks(needs, snap)}
		if p.AtMaximum() {
			s.Maximum = p.Max
		}
		found = append(found, s)
	}
	if len(found) == 0 {
		return nil
	}
	return slices.MinFunc(found, func(a, b *Start) int { return cmp.Compare(a.rank(), b.rank()) })
}

// lacks returns what a live factory of the pool lacks, nil where each has all.
func (p Pool) lacks(needs fleet.Needs, snap fleet.Snapshot) []string {
	for _, fit := range snap.Route(needs).Ineligible {
		if fit.Factory.Pool == p.Name && fit.Factory.Live() && !fit.Factory.Draining && len(fit.Missing) > 0 {
			return fit.Missing
		}
	}
	return nil
}

// Startable is the function Startable with the pools of a workspace. That it has none is known for
// some seconds without a query.
func (s *Service) Startable(
	ctx context.Context, who tenancy.Principal, product string, needs fleet.Needs, snap fleet.Snapshot,
) (found *Start, err error) {
	if needs.Factory != "" || s.none.known(who.Workspace) {
		return nil, nil
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err := ListTx(ctx, tx, who.Workspace)
		if len(list) == 0 && err == nil {
			s.none.note(who.Workspace)
		}
		found = Startable(list, product, needs, snap)
		return err
	})
	return found, err
}

// StartableTx is the function Startable with the pools of a workspace, in a transaction.
func StartableTx(
	ctx context.Context, tx db.Tx, workspace ids.ID, product string, needs fleet.Needs, snap fleet.Snapshot,
) (*Start, error) {
	if needs.Factory != "" {
		return nil, nil
	}
	list, err := ListTx(ctx, tx, workspace)
	return Startable(list, product, needs, snap), err
}
