package tokens

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Revoke ends a token now, and the tokens of the agents that registered with
// it: at once in this process, within seconds in every other. Their leases are
// not touched. People end their own, owners and admins all of the workspace;
// ending an ended one is no error. Another's token, and one of another workspace,
// is NotFound.
func (s *Service) Revoke(ctx context.Context, who tenancy.Principal, id ids.ID) error {
	if !who.Can(tenancy.SignedIn) {
		return fault.New(fault.Forbidden, "Only a person may end a token.")
	}
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		t, before, found, err := revokeTokenTx(ctx, tx, who, id, who.Can(tenancy.RunFleet))
		if err == nil && !found {
			return fault.New(fault.NotFound, "There is no such token.")
		}
		if err != nil || before {
			return err
		}
		return appendTx(ctx, tx, who, eventlog.TokenRevoked, t)
	})
	if err != nil {
		return err
	}
	s.wake.Publish(RevokedTopic(who.Workspace), eventlog.Topic(who.Workspace))
	return nil
}

// RevokeOwn ends all live tokens of the caller, in every workspace, and says
// how many there were. Fault: Forbidden.
func (s *Service) RevokeOwn(ctx context.Context, who tenancy.Principal) (int, error) {
	if err := people.OnlyPeople(who); err != nil {
		return 0, err
	}
	list, err := s.workspaces.Of(ctx, who.Account)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, w := range list {
		there := who
		there.Workspace, there.Role = w.ID, w.Role
		err := s.db.In(ctx, db.Workspace(w.ID), func(tx db.Tx) error {
			ended, err := revokeOwnTokensTx(ctx, tx, there)
			if err != nil {
				return err
			}
			for _, t := range ended {
				if err := appendTx(ctx, tx, there, eventlog.TokenRevoked, t); err != nil {
					return err
				}
			}
			n += len(ended)
			return nil
		})
		if err != nil {
			return n, err
		}
		s.wake.Publish(RevokedTopic(w.ID), eventlog.Topic(w.ID))
	}
	return n, nil
}
