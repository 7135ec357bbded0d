package members

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Member is a person in a workspace.
type Member struct {
	Account ids.ID
	Name    string
	Email   string
	Role    tenancy.Role
	Since   time.Time
	// Disabled is set where an owner has disabled the account in the workspace.
	Disabled bool
}

// List lists the caller's workspace: owners first, then by role and name. It
// needs ReadBoard. Fault: Forbidden.
func (s *Service) List(ctx context.Context, who tenancy.Principal) ([]Member, error) {
	if !who.Can(tenancy.ReadBoard) {
		return nil, fault.New(fault.Forbidden, "Only members see who the members are.")
	}
	var list []Member
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		var err error
		list, err = listTx(ctx, tx, who.Workspace)
		return err
	})
	return list, err
}

// ChangeRole gives a member another role; the one he has is no error and writes
// nothing. It needs Manage, and to make or unmake an owner Own. The own role is
// changed by owners who step down, and by nobody else. Open invitations that the
// member could not make any more end. Faults: Forbidden, NotFound, Validation
// (role), InUse for the last owner.
func (s *Service) ChangeRole(ctx context.Context, who tenancy.Principal, account ids.ID, role tenancy.Role) error {
	if !slices.Contains(Roles, role) {
		return fault.Invalid("role", "Choose owner, admin, member or viewer.")
	}
	changed := false
	err := s.amongMembers(ctx, who, func(tx db.Tx, list members) error {
		target, ok := list.find(account)
		if !ok {
			return noMember()
		}
		if err := list.mayChange(who.Account, target, role); err != nil || target.Role == role {
			return err
		}
		if ok, err := setRoleTx(ctx, tx, who.Workspace, target, role); !ok {
			return guarded(err)
		}
		if err := endInvitationsAndTellTx(ctx, tx, who, account, role); err != nil {
			return err
		}
		changed = true
		return eventlog.RecordTx(ctx, tx, who, eventlog.MemberRoleChanged, memberFacts(target),
			eventlog.Change{Field: "role", Old: target.Role, New: role})
	})
	if err == nil && changed {
		s.Changed(who.Workspace)
	}
	return err
}

// Remove takes a member out of the caller's workspace: his tokens and open
// invitations there end, his sessions go on elsewhere. It needs Manage, for an
// owner Own; oneself is removed by Leave. Faults: Forbidden, NotFound, InUse for
// the last owner.
func (s *Service) Remove(ctx context.Context, who tenancy.Principal, account ids.ID) error {
	return s.takeOut(ctx, who, account, eventlog.MemberRemoved)
}

// Leave takes the caller out of the workspace, as Remove does. Any member
// may, but for the last owner: InUse.
func (s *Service) Leave(ctx context.Context, who tenancy.Principal) error {
	if who.Kind != tenancy.KindPerson || !who.Can(tenancy.SignedIn) {
		return fault.New(fault.Forbidden, "Only a member can leave the workspace.")
	}
	return s.takeOut(ctx, who, who.Account, eventlog.MemberLeft)
}

func (s *Service) takeOut(ctx context.Context, who tenancy.Principal, account ids.ID, how eventlog.Type) error {
	err := s.amongMembers(ctx, who, func(tx db.Tx, list members) error {
		target, ok := list.find(account)
		if !ok {
			return noMember()
		}
		if err := list.mayTakeOut(who.Account, target, how == eventlog.MemberLeft); err != nil {
			return err
		}
		if ok, err := deleteMemberTx(ctx, tx, who.Workspace, target); !ok {
			return guarded(err)
		}
		if err := q.MemberTokensEnd(ctx, tx, who.Workspace, account); err != nil {
			return err
		}
		if err := endInvitationsAndTellTx(ctx, tx, who, account, ""); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, how, memberFacts(target))
	})
	if err == nil {
		s.Changed(who.Workspace)
	}
	return err
}

// amongMembers runs fn alone: no member of the workspace comes, goes or changes
// meanwhile, so two owners cannot leave as each other's last but one.
func (s *Service) amongMembers(ctx context.Context, who tenancy.Principal, fn func(db.Tx, members) error) error {
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := lockMembersTx(ctx, tx, who.Workspace); err != nil {
			return err
		}
		list, err := listTx(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		return fn(tx, list)
	})
}

// guarded returns a change that the statement itself refused, past the lock.
func guarded(err error) error {
	if err != nil {
		return err
	}
	return errors.New("a member changed under the lock")
}

// endInvitationsAndTellTx ends the links that a member may not give any more.
func endInvitationsAndTellTx(ctx context.Context, tx db.Tx, who tenancy.Principal, account ids.ID, role tenancy.Role) error {
	ended, err := endInvitationsTx(ctx, tx, who.Workspace, account, role)
	if err != nil {
		return err
	}
	for _, in := range ended {
		if err := eventlog.RecordTx(ctx, tx, who, eventlog.InvitationRevoked, in.facts()); err != nil {
			return err
		}
	}
	return nil
}

// topic is published after a workspace's members changed.
func topic(workspace ids.ID) string { return "members:" + workspace.String() }

// Changed notifies who watches the workspace, after the commit.
func (s *Service) Changed(workspace ids.ID) {
	s.wake.Publish(topic(workspace), eventlog.Topic(workspace))
}

// OnMembers calls fn after members of a workspace came, went or changed their
// role, and whenever that may have been missed. It must return quickly.
func (s *Service) OnMembers(workspace ids.ID, fn func()) (cancel func()) {
	return s.wake.Subscribe(topic(workspace), func(string) { fn() })
}

// memberFacts says in an event whom it is about.
func memberFacts(m Member) map[string]any {
	return map[string]any{"account": m.Account, "member": m.Name, "email": m.Email, "role": m.Role}
}
