package accounts

import (
	"context"
	"errors"
	"slices"
	"time"

	"fleetboard/db"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// Roles lists the roles, from most to least.
var Roles = []tenancy.Role{tenancy.RoleOwner, tenancy.RoleAdmin, tenancy.RoleMember, tenancy.RoleViewer}

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

// Members lists the asker's workspace: owners first, then by role and name. It
// needs ReadBoard. Fault: Forbidden.
func (s *memberService) Members(ctx context.Context, who tenancy.Principal) ([]Member, error) {
	if !who.Can(tenancy.ReadBoard) {
		return nil, fault.New(fault.Forbidden, "Only members see who the members are.")
	}
	var list []Member
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		var err error
		list, err = membersTx(ctx, tx, who.Workspace)
		return err
	})
	return list, err
}

// Giveable lists the roles that a person may give to others and take from them:
// owners all of them, admins those up to admin, all others none.
func Giveable(who tenancy.Principal) []tenancy.Role {
	if who.Kind != tenancy.KindPerson {
		return nil
	}
	return giveable(who.Role)
}

func giveable(role tenancy.Role) []tenancy.Role {
	p := tenancy.Principal{Kind: tenancy.KindPerson, Role: role}
	switch {
	case p.Can(tenancy.Own):
		return Roles
	case p.Can(tenancy.Manage):
		return Roles[1:]
	default:
		return nil
	}
}

// ChangeRole gives a member another role; the one he has is no error and writes
// nothing. It needs Manage, and to make or unmake an owner Own. The own role is
// changed by owners who step down, and by nobody else. Open invitations that the
// member could not make any more end. Faults: Forbidden, NotFound, Validation
// (role), InUse for the last owner.
func (s *memberService) ChangeRole(ctx context.Context, who tenancy.Principal, account ids.ID, role tenancy.Role) error {
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
		return memberEventTx(ctx, tx, who, eventlog.MemberRoleChanged, memberFacts(target),
			eventlog.Change{Field: "role", Old: target.Role, New: role})
	})
	if err == nil && changed {
		s.membersChanged(who.Workspace)
	}
	return err
}

// RemoveMember takes a member out of the asker's workspace: his tokens and open
// invitations there end, his sessions go on elsewhere. It needs Manage, for an
// owner Own; oneself is removed by Leave. Faults: Forbidden, NotFound, InUse for
// the last owner.
func (s *memberService) RemoveMember(ctx context.Context, who tenancy.Principal, account ids.ID) error {
	return s.takeOut(ctx, who, account, eventlog.MemberRemoved)
}

// Leave takes the asker out of the workspace, as RemoveMember does. Any member
// may, but for the last owner: InUse.
func (s *memberService) Leave(ctx context.Context, who tenancy.Principal) error {
	if who.Kind != tenancy.KindPerson || !who.Can(tenancy.SignedIn) {
		return fault.New(fault.Forbidden, "Only a member can leave the workspace.")
	}
	return s.takeOut(ctx, who, who.Account, eventlog.MemberLeft)
}

func (s *memberService) takeOut(ctx context.Context, who tenancy.Principal, account ids.ID, how eventlog.Type) error {
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
		if err := endMemberTokensTx(ctx, tx, who.Workspace, account); err != nil {
			return err
		}
		if err := endInvitationsAndTellTx(ctx, tx, who, account, ""); err != nil {
			return err
		}
		return memberEventTx(ctx, tx, who, how, memberFacts(target))
	})
	if err == nil {
		s.membersChanged(who.Workspace)
	}
	return err
}

// amongMembers runs fn alone: no member of the workspace comes, goes or changes
// meanwhile, so two owners cannot leave as each other's last but one.
func (s *memberService) amongMembers(ctx context.Context, who tenancy.Principal, fn func(db.Tx, members) error) error {
	return s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		if err := lockMembersTx(ctx, tx, who.Workspace); err != nil {
			return err
		}
		list, err := membersTx(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		return fn(tx, list)
	})
}

// members are all members of a workspace, as they are under its lock: the role
// that the asker came with may be of a moment ago.
type members []Member

func (l members) find(account ids.ID) (Member, bool) {
	at := slices.IndexFunc(l, func(m Member) bool { return m.Account == account })
	if at < 0 {
		return Member{}, false
	}
	return l[at], true
}

// role is what an account is now, "" where it is no member.
func (l members) role(account ids.ID) tenancy.Role {
	m, _ := l.find(account)
	if m.Disabled {
		return ""
	}
	return m.Role
}

func (l members) owners() int {
	n := 0
	for _, m := range l {
		if m.Role == tenancy.RoleOwner && !m.Disabled {
			n++
		}
	}
	return n
}

// mayChange reports why a role cannot be given, nil where it can.
func (l members) mayChange(actor ids.ID, target Member, role tenancy.Role) error {
	gives := giveable(l.role(actor))
	switch {
	case len(gives) == 0:
		return mayNotManage()
	case actor == target.Account && target.Role != role && target.Role != tenancy.RoleOwner:
		return fault.New(fault.Forbidden, "Nobody changes the own role. Ask an owner.")
	case !slices.Contains(gives, target.Role) || !slices.Contains(gives, role):
		return fault.New(fault.Forbidden, "Only an owner makes or unmakes owners.")
	case target.Role == tenancy.RoleOwner && role != tenancy.RoleOwner:
		return l.lastOwner(target)
	default:
		return nil
	}
}

// mayTakeOut reports why a member cannot go, nil where he can.
func (l members) mayTakeOut(actor ids.ID, target Member, leaves bool) error {
	gives := giveable(l.role(actor))
	switch {
	case leaves:
	case len(gives) == 0:
		return mayNotManage()
	case actor == target.Account:
		return fault.New(fault.Forbidden, "Nobody removes himself: leave the workspace instead.")
	case !slices.Contains(gives, target.Role):
		return fault.New(fault.Forbidden, "Only an owner removes an owner.")
	}
	if target.Role == tenancy.RoleOwner {
		return l.lastOwner(target)
	}
	return nil
}

// lastOwner refuses where nobody would own the workspace afterwards.
func (l members) lastOwner(target Member) error {
	if l.owners() > 1 || target.Disabled {
		return nil
	}
	return fault.New(fault.InUse, "%s is the last owner, and a workspace has one. Make another member an owner first.", target.Name)
}

func mayNotManage() error {
	return fault.New(fault.Forbidden, "Members are changed by owners and admins.")
}

func noMember() error {
	return fault.New(fault.NotFound, "There is no such member.")
}

// guarded is a change that the statement itself refused, past the lock.
func guarded(err error) error {
	if err != nil {
		return err
	}
	return errors.New("a member changed under the lock")
}

// memberFacts says in an event whom it is about.
func memberFacts(m Member) map[string]any {
	return map[string]any{"account": m.Account, "member": m.Name, "email": m.Email, "role": m.Role}
}

// endInvitationsAndTellTx ends the links that a member may not give any more.
func endInvitationsAndTellTx(ctx context.Context, tx db.Tx, who tenancy.Principal, account ids.ID, role tenancy.Role) error {
	ended, err := endInvitationsTx(ctx, tx, who.Workspace, account, role)
	if err != nil {
		return err
	}
	for _, in := range ended {
		if err := memberEventTx(ctx, tx, who, eventlog.InvitationRevoked, in.facts()); err != nil {
			return err
		}
	}
	return nil
}

// membersTopic is told after a workspace's members changed.
func membersTopic(workspace ids.ID) string { return "members:" + workspace.String() }

// membersChanged tells who watches the workspace, after the commit.
func (s *memberService) membersChanged(workspace ids.ID) {
	s.wake.Publish(membersTopic(workspace), eventlog.Topic(workspace))
}

// OnMembers calls fn after members of a workspace came, went or changed their
// role, and whenever that may have been missed. It must return quickly.
func (s *memberService) OnMembers(workspace ids.ID, fn func()) (cancel func()) {
	return s.wake.Subscribe(membersTopic(workspace), func(string) { fn() })
}
