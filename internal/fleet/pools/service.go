package pools

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Service keeps the pools of workspaces, and counts their demand.
type Service struct {
	db   *db.DB
	wake fleet.Publisher
	none *absent
}

// NewService returns the pools kept in d.
func NewService(d *db.DB, wake fleet.Publisher) *Service {
	return &Service{db: d, wake: wake, none: newAbsent()}
}

// List reads the pools of a workspace, by name.
func (s *Service) List(ctx context.Context, who tenancy.Principal) (list []Pool, err error) {
	if err := mayRead(who); err != nil {
		return nil, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = ListTx(ctx, tx, who.Workspace)
		return err
	})
	return list, err
}

// Get reads one pool. Faults: Forbidden; NotFound.
func (s *Service) Get(ctx context.Context, who tenancy.Principal, name string) (Pool, error) {
	list, err := s.List(ctx, who)
	if err != nil {
		return Pool{}, err
	}
	return find(list, name)
}

// Put makes a pool, or replaces all of its template, and reports whether it is new. Faults:
// Forbidden; Validation; InUse where the workspace has as many pools as it may.
func (s *Service) Put(ctx context.Context, who tenancy.Principal, name string, t Template) (saved Pool, isNew bool, err error) {
	return s.save(ctx, who, name, t, true)
}

// Make is Put for a name that no pool has yet; one that a pool has is Validation, too.
func (s *Service) Make(ctx context.Context, who tenancy.Principal, name string, t Template) (Pool, error) {
	made, _, err := s.save(ctx, who, name, t, false)
	return made, err
}

func (s *Service) save(
	ctx context.Context, who tenancy.Principal, name string, t Template, replace bool,
) (saved Pool, isNew bool, err error) {
	if !who.Can(tenancy.Manage) {
		return Pool{}, false, fault.New(fault.Forbidden, "Only owners and admins change pools.")
	}
	if err := t.check(name); err != nil {
		return Pool{}, false, err
	}
	t = t.normal()
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := q.NamedLock(ctx, tx, "pools:"+who.Workspace.String()); err != nil {
			return err
		}
		before, known, err := poolTx(ctx, tx, who.Workspace, name)
		if err != nil {
			return err
		}
		if known && !replace {
			return fault.Invalid("name", "There is a pool %s already: edit that one, or take another name.", name)
		}
		isNew = !known
		if isNew {
			n, err := q.PoolCount(ctx, tx, who.Workspace)
			if err != nil {
				return err
			}
			if n >= MaxPools {
				return fault.New(fault.InUse, "This workspace has %d pools, as many as it may.", n)
			}
		}
		if err := checkProductsTx(ctx, tx, who.Workspace, t.ProductScope); err != nil {
			return err
		}
		changes := differ(templateFrom(before), t)
		if isNew || len(changes) > 0 {
			if err := saveTx(ctx, tx, who.Workspace, name, t); err != nil {
				return err
			}
			facts := map[string]any{"pool": name, "new": isNew}
			if err := eventlog.RecordTx(ctx, tx, who, eventlog.PoolSaved, facts, changes...); err != nil {
				return err
			}
		}
		list, err := ListTx(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		saved, err = find(list, name)
		return err
	})
	if err != nil {
		return Pool{}, false, err
	}
	s.publish(who.Workspace)
	return saved, isNew, nil
}

// Delete takes a pool away. Its factories go on and belong to none. Faults: Forbidden; NotFound.
func (s *Service) Delete(ctx context.Context, who tenancy.Principal, name string) error {
	if !who.Can(tenancy.Manage) {
		return fault.New(fault.Forbidden, "Only owners and admins change pools.")
	}
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := q.PoolLeave(ctx, tx, who.Workspace, name); err != nil {
			return err
		}
		id, err := lockTx(ctx, tx, who.Workspace, name)
		if err != nil {
			return err
		}
		if err := q.PoolDelete(ctx, tx, who.Workspace, id); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.PoolDeleted, map[string]any{"pool": name})
	})
	if err == nil {
		s.publish(who.Workspace)
	}
	return err
}

// Demand counts what a pool needs now. Faults: Forbidden; NotFound.
func (s *Service) Demand(ctx context.Context, who tenancy.Principal, name string) (Demand, error) {
	all, err := s.Demands(ctx, who)
	if err != nil {
		return Demand{}, err
	}
	if i := slices.IndexFunc(all, func(one PoolDemand) bool { return one.Pool.Name == name }); i >= 0 {
		return all[i].Demand, nil
	}
	return Demand{}, noPool(name)
}

// PoolDemand is a pool and what it needs.
type PoolDemand struct {
	Pool   Pool
	Demand Demand
}

// Demands counts what each pool of a workspace needs now, by name. Fault: Forbidden.
func (s *Service) Demands(ctx context.Context, who tenancy.Principal) (all []PoolDemand, err error) {
	if err := mayRead(who); err != nil {
		return nil, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		all, err = demandsTx(ctx, tx, who.Workspace)
		return err
	}, db.Snapshot)
	return all, err
}

func demandsTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]PoolDemand, error) {
	list, err := ListTx(ctx, tx, workspace)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	lanes, err := lanesTx(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	queued := share(list, lanes)
	all := make([]PoolDemand, len(list))
	for i, p := range list {
		all[i] = PoolDemand{Pool: p, Demand: p.demand(queued[i], p.Offered)}
	}
	return all, nil
}

// publish wakes whoever looks at the fleet.
func (s *Service) publish(workspace ids.ID) {
	s.none.forget(workspace)
	s.wake.Publish(fleet.Topic(workspace), eventlog.Topic(workspace))
}

func mayRead(who tenancy.Principal) error {
	if !who.Can(tenancy.ReadBoard) {
		return fault.New(fault.Forbidden, "Only members of the workspace and its agents read pools.")
	}
	return nil
}

func noPool(name string) error {
	return fault.New(fault.NotFound, "There is no pool %.64s in this workspace.", name)
}

func find(list []Pool, name string) (Pool, error) {
	if i := slices.IndexFunc(list, func(p Pool) bool { return p.Name == name }); i >= 0 {
		return list[i], nil
	}
	return Pool{}, noPool(name)
}

// differ returns what changes between two templates.
func differ(old, now Template) []eventlog.Change {
	var changes []eventlog.Change
	add := func(field string, was, is any, same bool) {
		if !same {
			changes = append(changes, eventlog.Change{Field: field, Old: was, New: is})
		}
	}
	add("os", old.Offers.OS, now.Offers.OS, old.Offers.OS == now.Offers.OS)
	for _, l := range []struct {
		field    string
		was, is_ []string
	}{
		{"engines", old.Offers.Engines, now.Offers.Engines}, {"capabilities", old.Offers.Capabilities, now.Offers.Capabilities},
		{"repos", old.Offers.Repos, now.Offers.Repos}, {"product_scope", old.ProductScope, now.ProductScope},
	} {
		add(l.field, l.was, l.is_, slices.Equal(l.was, l.is_))
	}
	for _, n := range []struct {
		field   string
		was, is int
	}{
		{"seats", old.Offers.Seats, now.Offers.Seats}, {"min", old.Min, now.Min}, {"max", old.Max, now.Max},
		{"min_idle", old.MinIdle, now.MinIdle}, {"cool_down_seconds", old.CoolDownSeconds, now.CoolDownSeconds},
	} {
		add(n.field, n.was, n.is, n.was == n.is)
	}
	return changes
}
