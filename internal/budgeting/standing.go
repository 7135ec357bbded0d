package budgeting

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// Scope says which budgets a job counts for.
type Scope struct {
	Product  string // its name
	Phase    string
	Job      ids.ID // the zero value for one that is not there yet
	Priority int
}

// Standing is a budget that a job counts for, and whether it has enough left for it now.
type Standing struct {
	ID   ids.ID
	Name string
	Hard bool
	// Free is what it has left of its limit of money, nil where it has none.
	Free *spend.Nanos
	// Short is why the job would wait for it, nil where it would not.
	Short *Refusal
}

// StandingsTx reads the budgets that a job counts for. It locks nothing.
func StandingsTx(ctx context.Context, tx db.Tx, workspace ids.ID, of Scope) ([]Standing, error) {
	list, now, err := scopedTx(ctx, tx, workspace, of)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if err := periodTx(ctx, tx, workspace, list, now, false); err != nil {
		return nil, err
	}
	standings := make([]Standing, len(list))
	for i, b := range list {
		s := Standing{ID: b.id, Name: b.name, Hard: b.hard}
		if free, limited := b.state.Free(); limited {
			s.Free = &free
		}
		if r, no := (ask{priority: of.Priority, budgets: []*budget{b}}).refusal(); no {
			s.Short = &r
		}
		standings[i] = s
	}
	return standings, nil
}
