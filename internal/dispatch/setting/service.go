package setting

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Publisher carries wake-ups between the processes of one database.
type Publisher interface{ Publish(topics ...string) }

// Service reads and changes settings.
type Service struct {
	db   *db.DB
	wake Publisher
}

// New returns the settings of the workspaces in d.
func New(d *db.DB, wake Publisher) *Service { return &Service{d, wake} }

// DispatchSettings returns how the workspace gives its jobs out. Forbidden.
func (s *Service) DispatchSettings(ctx context.Context, who tenancy.Principal) (set Settings, err error) {
	if err := requireManager(who); err != nil {
		return Settings{}, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		set, err = LoadTx(ctx, tx, who.Workspace)
		return err
	})
	return set, err
}

// ChangeDispatch changes what the change names and returns all. Each claim that begins after
// it has returned goes by it.
//
// Faults: Forbidden; Validation, also for a product that is not there.
func (s *Service) ChangeDispatch(ctx context.Context, who tenancy.Principal, c Change) (after Settings, err error) {
	if err := requireManager(who); err != nil {
		return Settings{}, err
	}
	if err := c.check(); err != nil {
		return Settings{}, err
	}
	changed := false
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := q.NamedLock(ctx, tx, "dispatch:"+who.Workspace.String()); err != nil {
			return err
		}
		before, err := LoadTx(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		after = c.apply(before)
		if err := saveProductsTx(ctx, tx, who.Workspace, c.ProductWeights); err != nil {
			return err
		}
		changes := after.changes(before)
		if changed = len(changes) > 0; !changed {
			return nil
		}
		if err := saveTx(ctx, tx, who.Workspace, after); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.DispatchChanged, nil, changes...)
	})
	if err != nil {
		return Settings{}, err
	}
	if changed {
		s.wake.Publish(eventlog.Topic(who.Workspace), Topic(who.Workspace))
	}
	return after, nil
}

func requireManager(who tenancy.Principal) error {
	if !who.Can(tenancy.Manage) {
		return fault.New(fault.Forbidden, "Only owners and admins see and change how jobs are given out.")
	}
	return nil
}
