package budgets

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Publisher wakes whoever waits for a topic, in every process.
type Publisher interface{ Publish(topics ...string) }

// Freed lets those go on who wait for budgets that have enough left now. It is called after
// commit; what it leaves undone, a sweep does.
type Freed interface {
	BudgetsFreed(ctx context.Context, workspace ids.ID, budgets []ids.ID)
}

// Service makes, changes and reads budgets.
type Service struct {
	db    *db.DB
	wake  Publisher
	freed Freed
}

// NewService returns the budgets kept in d. freed may be nil: then nobody waits for them.
func NewService(d *db.DB, wake Publisher, freed Freed) *Service {
	return &Service{db: d, wake: wake, freed: freed}
}

// List reads the workspace's budgets, by name, each as it stands now. Forbidden.
func (s *Service) List(ctx context.Context, who tenancy.Principal) ([]Budget, error) {
	return s.read(ctx, who, nil)
}

// Get reads one budget as it stands now. Forbidden; NotFound.
func (s *Service) Get(ctx context.Context, who tenancy.Principal, id ids.ID) (Budget, error) {
	list, err := s.read(ctx, who, []ids.ID{id})
	if err != nil {
		return Budget{}, err
	}
	if len(list) == 0 {
		return Budget{}, noBudget()
	}
	return list[0], nil
}

func (s *Service) read(ctx context.Context, who tenancy.Principal, some []ids.ID) (list []Budget, err error) {
	if err := mayRead(who); err != nil {
		return nil, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		var now time.Time
		if list, now, err = budgetsTx(ctx, tx, who.Workspace, some); err != nil {
			return err
		}
		return presentTx(ctx, tx, who.Workspace, list, now, false)
	}, db.Snapshot)
	return list, err
}

// getTx reads a budget as Get gives it.
func getTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (Budget, error) {
	list, now, err := budgetsTx(ctx, tx, workspace, []ids.ID{id})
	if err != nil {
		return Budget{}, err
	}
	if len(list) == 0 {
		return Budget{}, noBudget()
	}
	err = presentTx(ctx, tx, workspace, list, now, false)
	return list[0], err
}

func mayRead(who tenancy.Principal) error {
	if !who.Can(tenancy.ReadBoard) {
		return fault.New(fault.Forbidden, "Only members of the workspace read budgets.")
	}
	return nil
}

func mayChange(who tenancy.Principal) error {
	if !who.Can(tenancy.Manage) {
		return fault.New(fault.Forbidden, "Only owners and admins change budgets.")
	}
	return nil
}

func noBudget() error { return fault.New(fault.NotFound, "There is no such budget in this workspace.") }

// lockTx locks budgets and their present periods, which it opens where they are not, and
// returns them in the order requested. NotFound.
func lockTx(ctx context.Context, tx db.Tx, workspace ids.ID, asked ...ids.ID) ([]Budget, error) {
	if err := lockBudgetsTx(ctx, tx, workspace, asked); err != nil {
		return nil, err
	}
	list, now, err := budgetsTx(ctx, tx, workspace, asked)
	if err != nil {
		return nil, err
	}
	if _, err := openTx(ctx, tx, workspace, list, now); err != nil {
		return nil, err
	}
	if err := presentTx(ctx, tx, workspace, list, now, true); err != nil {
		return nil, err
	}
	byID := make(map[ids.ID]Budget, len(list))
	for _, b := range list {
		byID[b.ID] = b
	}
	found := make([]Budget, len(asked))
	for i, id := range asked {
		b, there := byID[id]
		if !there {
			return nil, noBudget()
		}
		found[i] = b
	}
	return found, nil
}

// changed notifies those who look and those who wait. It is called after commit.
func (s *Service) changed(ctx context.Context, workspace ids.ID, roomier ...ids.ID) {
	s.wake.Publish(eventlog.Topic(workspace))
	if s.freed != nil && len(roomier) > 0 {
		s.freed.BudgetsFreed(ctx, workspace, roomier)
	}
}

// foreseen puts right what the projection of the last minute cannot know.
func (b *Budget) foreseen(now time.Time) {
	b.Projection.From, b.Projection.Until = now, b.State.End
	if free, limited := b.State.Free(); !limited {
		b.Projection.Verdict = forecast.Enough
	} else if free <= 0 {
		b.Projection.Verdict, b.Projection.ExhaustedP50, b.Projection.ExhaustedP90 = forecast.Exhausted, nil, nil
	} else if b.Projection.Verdict == forecast.Exhausted {
		b.Projection.Verdict = forecast.TooLittleData
	}
}
