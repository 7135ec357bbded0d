package members

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Disable keeps a member out of the caller's workspace until Enable:
// sessions show it no more, personal tokens are refused, open links of his end.
// The account goes on elsewhere. It needs Own; disabling a disabled one is no
// error. Faults: Forbidden, also for oneself; NotFound; InUse for the last owner.
func (s *Service) Disable(ctx context.Context, who tenancy.Principal, account ids.ID) error {
	return s.control(ctx, who, account, func(tx db.Tx, list members, target Member) (bool, error) {
		switch {
		case who.Account == account:
			return false, fault.New(fault.Forbidden, "Nobody disables himself: leave the workspace instead.")
		case target.Disabled:
			return false, nil
		case target.Role == tenancy.RoleOwner:
			if err := list.lastOwner(target); err != nil {
				return false, err
			}
		}
		if ok, err := disableMemberTx(ctx, tx, who.Workspace, account); !ok {
			return false, guarded(err)
		}
		if err := endInvitationsAndTellTx(ctx, tx, who, account, ""); err != nil {
			return false, err
		}
		return true, eventlog.RecordTx(ctx, tx, who, eventlog.MemberDisabled, memberFacts(target))
	})
}

// Enable lets a disabled member in again, with the role and the tokens of
// before. It needs Own; enabling an enabled one is no error. Faults: Forbidden,
// NotFound.
func (s *Service) Enable(ctx context.Context, who tenancy.Principal, account ids.ID) error {
	return s.control(ctx, who, account, func(tx db.Tx, _ members, target Member) (bool, error) {
		if ok, err := enableMemberTx(ctx, tx, who.Workspace, account); !ok {
			return false, err
		}
		return true, eventlog.RecordTx(ctx, tx, who, eventlog.MemberEnabled, memberFacts(target))
	})
}

// EndSessions logs a member out of all browsers, also those of log ins that
// are under way. Browsers are then known no more. It needs Own. Faults: Forbidden,
// NotFound.
func (s *Service) EndSessions(ctx context.Context, who tenancy.Principal, account ids.ID) error {
	return s.control(ctx, who, account, func(tx db.Tx, _ members, target Member) (bool, error) {
		if err := sessions.EndEpochTx(ctx, tx, account); err != nil {
			return false, err
		}
		n, err := sessions.EndOthersTx(ctx, tx, account, nil)
		if err != nil {
			return false, err
		}
		facts := memberFacts(target)
		facts["sessions"] = n
		return true, eventlog.RecordTx(ctx, tx, who, eventlog.MemberSessionsEnded, facts)
	})
}

// control changes what a member can do, for an owner. fn reports whether it
// changed anything.
func (s *Service) control(ctx context.Context, who tenancy.Principal, account ids.ID, fn func(db.Tx, members, Member) (bool, error)) error {
	changed := false
	err := s.amongMembers(ctx, who, func(tx db.Tx, list members) error {
		if list.role(who.Account) != tenancy.RoleOwner {
			return fault.New(fault.Forbidden, "Only an owner does this.")
		}
		target, ok := list.find(account)
		if !ok {
			return noMember()
		}
		var err error
		changed, err = fn(tx, list, target)
		return err
	})
	if err == nil && changed {
		s.Changed(who.Workspace)
	}
	return err
}
