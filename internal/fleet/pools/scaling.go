package pools

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Step is what a scaler says of a factory that it starts or has started.
type Step string

// The steps. A start is granted while the demand is there.
const (
	Starting  Step = "starting"
	Draining  Step = "draining"
	Undrained Step = "undrained"
	Ended     Step = "ended"
	Failed    Step = "failed" // it has ended by itself
)

const (
	// startSeconds is how long a factory counts as being started that does not register.
	startSeconds = 300
	// keptStarts is how many starts of a pool are known.
	keptStarts = 1000
	// shownStarts is how many of them History returns.
	shownStarts = 50
	// maxMembers bounds how many factories of a pool are listed.
	maxMembers = 200
)

// Scaling is a step of one factory.
type Scaling struct {
	Factory string
	Step    Step
	Detail  string // why it has ended
}

// FactoryStart is the start of a factory for a pool, and its end.
type FactoryStart struct {
	Factory      string
	StartedAt    time.Time
	RegisteredAt *time.Time
	DrainedAt    *time.Time
	EndedAt      *time.Time
	Failed       bool
	Detail       string
	By           string
}

// Scale takes note of what a scaler does. A start is granted only where the pool's demand asks
// for one more factory; a start of the same factory that is open ends, also one for another pool. Of
// a factory that nobody has started for this pool, or that has ended, the other steps change nothing.
//
// Faults: Forbidden; NotFound; Validation; InUse where no further factory is needed.
func (s *Service) Scale(ctx context.Context, who tenancy.Principal, pool string, in Scaling) (*FactoryStart, error) {
	if !who.Can(tenancy.RunFleet) {
		return nil, fault.New(fault.Forbidden, "Only owners and admins scale pools.")
	}
	p := fault.Problems{}
	if in.Factory == "" {
		p.Add("factory", "It must be named.")
	}
	p.Name("factory", in.Factory, fleet.MaxName)
	p.Line("detail", in.Detail, MaxDetail)
	switch in.Step {
	case Starting, Draining, Undrained, Ended, Failed:
	default:
		p.Add("step", "It must be starting, draining, undrained, ended or failed.")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	var done *FactoryStart
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		id, err := lockTx(ctx, tx, who.Workspace, pool)
		if err != nil {
			return err
		}
		done, err = scaleTx(ctx, tx, who, id, pool, in)
		return err
	})
	if err == nil {
		s.wake.Publish(fleet.Topic(who.Workspace))
	}
	return done, err
}

func scaleTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID, pool string, in Scaling) (*FactoryStart, error) {
	switch in.Step {
	case Draining, Undrained:
		return lastStart(q.PoolStartDrain(ctx, tx, in.Step == Draining, who.Workspace, id, in.Factory))
	case Ended, Failed:
		return lastStart(endStart(ctx, tx, who.Workspace, id, in))
	}
	if err := q.PoolStartSupersede(ctx, tx, who.Workspace, in.Factory); err != nil {
		return nil, err
	}
	all, err := demandsTx(ctx, tx, who.Workspace)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.Pool.ID == id && one.Demand.Start == 0 {
			return nil, fault.New(fault.InUse, "The pool %s needs no further factory now.", pool).With("demand", one.Demand)
		}
	}
	return lastStart(beginStart(ctx, tx, who, id, in.Factory))
}

// Member is a factory of a pool.
type Member struct {
	Name     string
	Host     string
	Seats    int
	Taken    int
	Draining bool
	Live     bool
	EndedAt  *time.Time
}

// Sample is the most that a pool had and needed within five minutes.
type Sample struct {
	At                                          time.Time
	Known                                       bool // whether anything was recorded
	Queued, Running, Value, Factories, Starting int
}

// History is what a pool did: its factories, its demand in the last two hours, and the newest
// starts.
type History struct {
	Members []Member
	Samples []Sample
	Starts  []FactoryStart
}

// History reads what a pool did. Faults: Forbidden; NotFound.
func (s *Service) History(ctx context.Context, who tenancy.Principal, name string) (h History, err error) {
	if err := mayRead(who); err != nil {
		return h, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		h, err = historyTx(ctx, tx, who.Workspace, name)
		return err
	}, db.Snapshot)
	return h, err
}

// Sample records the demand of every pool, and forgets what is old. It returns of how many pools.
func (s *Service) Sample(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.PoolWorkspaces(ctx, tx)
		return err
	})
	total := 0
	for _, workspace := range workspaces {
		err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			all, err := demandsTx(ctx, tx, workspace)
			total += len(all)
			for _, one := range all {
				if err == nil {
					err = sampleTx(ctx, tx, workspace, one)
				}
			}
			return err
		})
		if err != nil {
			return total, err
		}
	}
	return total, err
}

// JoinTx returns the pool that a factory wants to belong to, and takes note that it has
// registered. The enrolment token must reach all that the pool's template offers and the
// products that it is for: otherwise the pool's demand would count jobs that its factory cannot
// take, and factories would be started for them for ever.
//
// Faults: Validation where there is no such pool; Forbidden.
func JoinTx(ctx context.Context, tx db.Tx, who tenancy.Principal, name, factory string) (ids.ID, error) {
	row, known, err := poolTx(ctx, tx, who.Workspace, name)
	if err != nil {
		return ids.Nil, err
	}
	if !known {
		return ids.Nil, fault.Invalid("factory.pool", "There is no pool %.64s in this workspace.", name)
	}
	t := templateFrom(row)
	reach := tenancy.Scope{Products: t.ProductScope, Capabilities: capabilities(t.Offers), Factory: factory}
	if !reaches(who.Scope, reach) {
		return ids.Nil, fault.New(fault.Forbidden, "This enrolment token does not reach all that the pool %s is for.", name)
	}
	return row.ID, q.PoolStartRegister(ctx, tx, who.Workspace, factory, row.ID)
}

// capabilities returns what of the offers a token's scope speaks of: all but repos.
func capabilities(o Offers) []string { return fleet.Offers(o.OS, o.Engines, o.Capabilities, nil) }

// reaches is scope.Covers, for a pool that offers nothing but repos, too.
func reaches(scope, pool tenancy.Scope) bool {
	if len(pool.Capabilities) == 0 {
		scope.Capabilities = nil
	}
	return scope.Covers(pool)
}
