package budgeting

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// Grant is what a lease reserves, as far as it is decided. Job has no slices where no
// budget is for it.
type Grant struct {
	Job ids.ID
	// Slice and Remaining are of the budget that has the least money left for the lease, of
	// the hard ones where there are such: what the lease may spend before it reports, and what
	// is free besides. Both are nil where none limits money.
	Slice, Remaining *spend.Nanos
	// Budget is that one's name, or the job's key where it is the job's own ceiling; BudgetID
	// is Nil then.
	Budget   string
	BudgetID ids.ID
	hard     bool

	epoch  int64
	slices []slice
}

// DecideTx says of jobs that are about to be claimed, in this order, which of them have
// enough left in all of their budgets, and locks those budgets' periods until the transaction
// ends. ReserveTx has to follow for those that get their lease.
func DecideTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) (map[ids.ID]Grant, map[ids.ID]Refusal, error) {
	c, err := coveredTx(ctx, tx, workspace, jobs)
	if err != nil {
		return nil, nil, err
	}
	if err := periodTx(ctx, tx, workspace, c.budgets, c.now, true); err != nil {
		return nil, nil, err
	}
	given, refused := decide(c.inOrder(jobs))
	grants := make(map[ids.ID]Grant, len(given))
	for job, slices := range given {
		g := Grant{Job: job, epoch: c.asks[job].epoch, slices: slices}
		var tightest Room
		for _, s := range slices {
			if tightest.add(s.budget, &held{nanos: s.nanos}) {
				g.Slice, g.Remaining = &s.nanos, new(tightest.Left-s.nanos)
				g.Budget, g.BudgetID, g.hard = s.budget.name, s.budget.id, s.budget.hard
			}
		}
		grants[job] = g
	}
	return grants, refused, nil
}

// Within returns the grant of a job whose own ceiling leaves so much, which counts like a hard
// budget.
func (g Grant) Within(key string, left spend.Nanos) Grant {
	if g.Slice != nil && g.hard && *g.Slice+*g.Remaining <= left {
		return g
	}
	slice := max(left, 0)
	if g.Slice != nil {
		slice = min(slice, *g.Slice)
	}
	g.Slice, g.Remaining, g.Budget, g.BudgetID = &slice, new(left-slice), key, ids.Nil
	return g
}

// inOrder returns the jobs that have budgets, as they were requested.
func (c covered) inOrder(jobs []ids.ID) []ask {
	list := make([]ask, 0, len(jobs))
	for _, id := range jobs {
		if a := c.asks[id]; a != nil {
			list = append(list, *a)
		}
	}
	return list
}

// ReserveTx writes what was decided, of those jobs that got their lease.
func ReserveTx(ctx context.Context, tx db.Tx, workspace ids.ID, grants []Grant) error {
	return reserveTx(ctx, tx, workspace, grants)
}

// maxWoken is how many jobs one change of a budget lets go on; the sweep does the rest.
const maxWoken = 200

// Woken are jobs that may go on.
type Woken struct {
	Held   []ids.ID // they wait for a budget
	Paused []ids.ID // a budget paused them
}

// WokenTx returns the jobs that have enough left in all of their budgets now, together, the most
// urgent first. It locks nothing: whoever claims them decides again.
func WokenTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Woken, error) {
	held, err := heldTx(ctx, tx, workspace, maxWoken)
	if err != nil {
		return Woken{}, err
	}
	paused, err := q.JobsPausedByBudget(ctx, tx, workspace, maxWoken)
	if err != nil || len(held)+len(paused) == 0 {
		return Woken{}, err
	}
	all := append(append([]ids.ID{}, held...), paused...)
	c, err := coveredTx(ctx, tx, workspace, all)
	if err != nil {
		return Woken{}, err
	}
	if err := periodTx(ctx, tx, workspace, c.budgets, c.now, false); err != nil {
		return Woken{}, err
	}
	_, refused := decide(c.inOrder(all))
	fit := func(list []ids.ID) (some []ids.ID) {
		for _, id := range list {
			if _, no := refused[id]; !no {
				some = append(some, id)
			}
		}
		return some
	}
	return Woken{Held: fit(held), Paused: fit(paused)}, nil
}

// RefusalsTx are why jobs would not be claimed now, each by itself; those whose budgets have
// enough left are not in there.
func RefusalsTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) (map[ids.ID]Refusal, error) {
	c, err := coveredTx(ctx, tx, workspace, jobs)
	if err != nil {
		return nil, err
	}
	if err := periodTx(ctx, tx, workspace, c.budgets, c.now, false); err != nil {
		return nil, err
	}
	refused := map[ids.ID]Refusal{}
	for id, a := range c.asks {
		if r, no := a.refusal(); no {
			refused[id] = r
		}
	}
	return refused, nil
}
