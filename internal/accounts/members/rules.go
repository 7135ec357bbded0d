package members

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// mayInvite reports why the caller cannot invite with a role, nil where he can.
func (l members) mayInvite(who tenancy.Principal, role tenancy.Role) error {
	gives := giveable(l.role(who.Account))
	switch {
	case len(gives) == 0:
		return fault.New(fault.Forbidden, "People are invited by owners and admins.")
	case !slices.Contains(gives, role):
		return fault.New(fault.Forbidden, "Only an owner invites an owner.")
	default:
		return nil
	}
}

// Roles lists the roles, from most to least.
var Roles = []tenancy.Role{tenancy.RoleOwner, tenancy.RoleAdmin, tenancy.RoleMember, tenancy.RoleViewer}

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

// members are all members of a workspace, as they are under its lock: the role
// that the caller came with may be of a moment ago.
type members []Member

func (l members) find(account ids.ID) (Member, bool) {
	at := slices.IndexFunc(l, func(m Member) bool { return m.Account == account })
	if at < 0 {
		return Member{}, false
	}
	return l[at], true
}

// role returns what an account is now, "" where it is no member.
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
