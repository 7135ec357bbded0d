package budgets

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Notice is a budget that people should know of now.
type Notice struct {
	ID   ids.ID
	Name string
	Hard bool
	// Limits are those of the present period, which ends at PeriodEnd.
	Limits    Limits
	PeriodEnd time.Time
	// Threshold is the highest one that was reported in the present period and is still
	// reached, in per cent; 0 is none.
	Threshold int
	Percent   int // of the limit that is nearest to its end
	// UsedUp: it is hard and has too little left for another slice, so that a person has to
	// decide; false where one has decided to leave it so.
	UsedUp bool
	// RunsOut is when its money is gone, where that is before its period ends.
	RunsOut *time.Time
}

// NoticesTx returns the budgets of a workspace that people should know of now, by name.
func NoticesTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Notice, error) {
	return noticesTx(ctx, tx, workspace)
}

// percent returns how much of the limits is settled, of that which is nearest to its end. What
// may spend nothing has spent all.
func percent(s State) int {
	most := 0
	for _, one := range []struct {
		limit   *int64
		settled int64
	}{{nanos(s.Money), int64(s.Settled.Money)}, {s.Tokens, s.Settled.Tokens}, {s.Runs, s.Settled.Runs}} {
		switch {
		case one.limit == nil:
		case *one.limit == 0:
			most = max(most, 100)
		default:
			most = max(most, int(float64(one.settled)/float64(*one.limit)*100))
		}
	}
	return most
}

// Stop notes that a budget that is used up stays so: its jobs go on waiting, and nobody is
// asked any more until its limit changes. Forbidden; NotFound.
func (s *Service) Stop(ctx context.Context, who tenancy.Principal, id ids.ID) error {
	if err := mayChange(who); err != nil {
		return err
	}
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		found, err := lockTx(ctx, tx, who.Workspace, id)
		if err != nil {
			return err
		}
		stopped, err := stopTx(ctx, tx, who.Workspace, id)
		if err != nil || !stopped {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.BudgetStopped, found[0].facts(nil))
	})
	if err != nil {
		return err
	}
	s.changed(ctx, who.Workspace)
	return nil
}
