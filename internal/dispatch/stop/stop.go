package stop

import (
	"context"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// MaxReason bounds the reason of a stop, in characters.
	MaxReason = 500
	// MaxProducts bounds how many products one call names.
	MaxProducts = 100
)

// Service stops and releases.
type Service struct {
	db      *db.DB
	wake    lease.Publisher
	effects *lease.Effects
}

// New returns the stops of the workspaces in d.
func New(d *db.DB, wake lease.Publisher, effects *lease.Effects) *Service {
	return &Service{db: d, wake: wake, effects: effects}
}

// Order is what a person wants stopped.
type Order struct {
	Products []string // by name; none is the whole fleet
	Hold     fleet.Hold
	Reason   string
}

func (o *Order) check() error {
	p := fault.Problems{}
	o.Reason = strings.TrimSpace(o.Reason)
	if o.Reason == "" {
		p.Add("reason", "It must say why.")
	}
	p.Line("reason", o.Reason, MaxReason)
	if o.Hold != fleet.HoldClaims && o.Hold != fleet.HoldAll {
		p.Add("hold", "It must be claims or all.")
	}
	p.List("products", o.Products, MaxProducts, jobs.MaxName)
	return p.Err()
}

// Stops returns what is stopped, the whole fleet first.
func (s *Service) Stops(ctx context.Context, who tenancy.Principal) (stops fleet.Stops, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		stops, err = fleet.StopsTx(ctx, tx, who.Workspace)
		return err
	})
	return stops, err
}

// StopFleet stops products, or the whole fleet, and returns all that is stopped then. A stop
// that stands there already gets the new hold and reason. Once it returns, no claim gives out
// a job that is stopped; with fleet.HoldAll the holders of such jobs are directed to pause.
//
// Faults: Forbidden; Validation, also for a product that is not there.
func (s *Service) StopFleet(ctx context.Context, who tenancy.Principal, o Order) (fleet.Stops, error) {
	if err := requireManager(who); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return s.change(ctx, who, func(tx db.Tx, before fleet.Stops) error {
		scopes, err := scopesTx(ctx, tx, who.Workspace, o.Products)
		if err != nil {
			return err
		}
		var changes []eventlog.Change
		for _, scope := range scopes {
			was := before.At(scope.product)
			if was != nil && was.Hold == o.Hold && was.Reason == o.Reason {
				continue
			}
			if err := saveStopTx(ctx, tx, who, scope.product, o); err != nil {
				return err
			}
			changes = append(changes, eventlog.Change{Field: scope.field(), Old: heldBy(was), New: o.Hold})
		}
		if len(changes) == 0 {
			return nil
		}
		facts := map[string]any{"reason": o.Reason, "hold": o.Hold, "products": set(o.Products)}
		return eventlog.RecordTx(ctx, tx, who, eventlog.FleetStopped, facts, changes...)
	})
}

// ReleaseFleet lets stopped products go on, or all that is stopped, and returns what is
// stopped still. What a stop has paused goes on. Nothing stopped is no fault.
//
// Faults: Forbidden; Validation for a product that is not there, or has no stop of its own.
func (s *Service) ReleaseFleet(ctx context.Context, who tenancy.Principal, products []string) (fleet.Stops, error) {
	if err := requireManager(who); err != nil {
		return nil, err
	}
	p := fault.Problems{}
	if p.List("products", products, MaxProducts, jobs.MaxName); len(p) > 0 {
		return nil, p.Err()
	}
	return s.change(ctx, who, func(tx db.Tx, before fleet.Stops) error {
		released := before
		if len(products) > 0 {
			scopes, err := scopesTx(ctx, tx, who.Workspace, products)
			if err != nil {
				return err
			}
			if released, err = ownStops(before, scopes); err != nil {
				return err
			}
		}
		if len(released) == 0 {
			return nil
		}
		list, changes := make([]ids.ID, 0, len(released)), make([]eventlog.Change, 0, len(released))
		for _, r := range released {
			list = append(list, r.ID)
			changes = append(changes, eventlog.Change{Field: scope{name: r.Product}.field(), Old: r.Hold, New: ""})
		}
		if err := q.StopRelease(ctx, tx, who.Workspace, list); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.FleetReleased, map[string]any{"products": set(products)}, changes...)
	})
}

// ownStops returns the stops of the products themselves.
func ownStops(before fleet.Stops, scopes []scope) (fleet.Stops, error) {
	p := fault.Problems{}
	var own fleet.Stops
	for _, scope := range scopes {
		switch s := before.At(scope.product); {
		case s != nil:
			own = append(own, *s)
		case before.Whole() != nil:
			p.Add(scope.at, "%s is stopped with the whole fleet. Release the whole fleet.", scope.name)
		default:
			p.Add(scope.at, "%s is not stopped.", scope.name)
		}
	}
	return own, p.Err()
}

// change writes stops while no claim is under way, and then does what follows from them.
func (s *Service) change(ctx context.Context, who tenancy.Principal, write func(db.Tx, fleet.Stops) error) (after fleet.Stops, err error) {
	var lanes []int64
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := q.NamedLock(ctx, tx, fleet.StopLock(who.Workspace)); err != nil {
			return err
		}
		before, err := fleet.StopsTx(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		if err := write(tx, before); err != nil {
			return err
		}
		if after, err = fleet.StopsTx(ctx, tx, who.Workspace); err != nil {
			return err
		}
		lanes, err = q.LanesWithReady(ctx, tx, who.Workspace)
		return err
	})
	if err != nil {
		return nil, err
	}
	// Claims that met the change look again, also for what it does not cover.
	topics := []string{fleet.Topic(who.Workspace), eventlog.Topic(who.Workspace)}
	for _, lane := range lanes {
		topics = append(topics, jobs.LaneTopic(who.Workspace, lane))
	}
	s.wake.Publish(topics...)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.AfterCommitTimeout)
	defer cancel()
	if _, err := s.enforce(ctx, who.Workspace); err != nil {
		s.effects.Warn(ctx, "a stop is carried out later", err)
	}
	return after, nil
}

func requireManager(who tenancy.Principal) error {
	if !who.Can(tenancy.Manage) {
		return fault.New(fault.Forbidden, "Only owners and admins stop and release the fleet.")
	}
	return nil
}

func heldBy(s *fleet.Stop) fleet.Hold {
	if s == nil {
		return ""
	}
	return s.Hold
}

// set returns names in order, each once.
func set(names []string) []string {
	sorted := slices.Sorted(slices.Values(names))
	return slices.Compact(append([]string{}, sorted...))
}
