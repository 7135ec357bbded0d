package budgets

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// OpenTx makes sure that the periods in which an instant lies are there, each with its
// grant, of those of the budgets that were not removed. It returns the budgets whose
// period it opened.
func OpenTx(ctx context.Context, tx db.Tx, workspace ids.ID, budgets []ids.ID, at time.Time) ([]ids.ID, error) {
	list, _, err := budgetsTx(ctx, tx, workspace, budgets)
	if err != nil {
		return nil, err
	}
	return openTx(ctx, tx, workspace, list, at)
}

func openTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Budget, at time.Time) ([]ids.ID, error) {
	if len(list) == 0 {
		return nil, nil
	}
	windows := make([]window, len(list))
	for i, b := range list {
		start, end, err := b.bounds(at)
		if err != nil {
			return nil, err
		}
		windows[i] = window{budget: b.ID, start: start, end: end}
	}
	return openPeriodsTx(ctx, tx, workspace, windows)
}

// window is a period of a budget.
type window struct {
	budget     ids.ID
	start, end time.Time
}

// bounds returns those of the period in which an instant lies.
func (b Budget) bounds(at time.Time) (start, end time.Time, err error) {
	zone, known := loadZone(b.Timezone)
	if !known {
		return time.Time{}, time.Time{}, fmt.Errorf("budget %s: unknown zone %q", b.ID, b.Timezone)
	}
	return b.Period.Bounds(at, zone)
}

// presentTx fills in how the periods of now stand: those that nobody has opened yet as
// they will be opened. locked keeps them as they are until the transaction ends.
func presentTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Budget, now time.Time, locked bool) error {
	if len(list) == 0 {
		return nil
	}
	windows := make([]window, len(list))
	for i := range list {
		b := &list[i]
		start, end, err := b.bounds(now)
		if err != nil {
			return err
		}
		b.State = State{Start: start, End: end, Limits: b.Limits}
		windows[i] = window{budget: b.ID, start: start, end: end}
	}
	states, err := periodsTx(ctx, tx, workspace, windows, locked)
	if err != nil {
		return err
	}
	alerts, err := alertsTx(ctx, tx, workspace, windows)
	if err != nil {
		return err
	}
	for i := range list {
		b := &list[i]
		if s, opened := states[b.ID]; opened {
			b.State = s
		}
		b.State.Alerts = alerts[b.ID]
		b.foreseen(now)
	}
	return nil
}
