package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fleetboard/db"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

const (
	invitationLife = 7 * 24 * time.Hour
	// maxInvitations are open at once in a workspace.
	maxInvitations = 200
)

// PendingInvitation is an open link as those who manage see it.
type PendingInvitation struct {
	ID    ids.ID
	Email string
	Role  tenancy.Role
	// Hint is the part of the link's secret that may be shown.
	Hint string
	// By is who made it, by name.
	By          string
	At, Expires time.Time
	// Expired is one that nobody used in time.
	Expired bool
}

// Invitation is an open link as its holder sees it.
type Invitation struct {
	Workspace     ids.ID
	WorkspaceName string
	Email         string
	Role          tenancy.Role
	By            string
	Expires       time.Time

	token string
}

// Joined is what became of an accepted invitation.
type Joined struct {
	Workspace ids.ID
	Name      string
	Role      tenancy.Role
	// Already is true where the account was a member before, maybe in another
	// role. Nothing has changed then, and the link can still be used.
	Already bool
}

// Invite makes a link that makes its holder a member: once, within seven days.
// It returns the link's token, which is not kept and cannot be shown again. An
// older link for the same e-mail ends. It needs Manage, and Own for an owner.
// Faults: Forbidden, Validation (email, role), InUse where very many are open.
func (s *memberService) Invite(ctx context.Context, who tenancy.Principal, email string, role tenancy.Role) (string, PendingInvitation, error) {
	in := PendingInvitation{ID: ids.New(), Email: normalEmail(email), Role: role, By: who.Name}
	wrong := fault.Problems{}
	if text := checkEmail(in.Email); text != "" {
		wrong.Add("email", "%s", text)
	}
	if !slices.Contains(Roles, role) {
		wrong.Add("role", "Choose owner, admin, member or viewer.")
	}
	if err := wrong.Err(); err != nil {
		return "", PendingInvitation{}, err
	}
	token := newSecret(secretInvitation)
	in.Hint = secretHint(token)
	err := s.amongMembers(ctx, who, func(tx db.Tx, list members) error {
		if err := list.mayInvite(who, role); err != nil {
			return err
		}
		if name, there, err := memberByEmailTx(ctx, tx, who.Workspace, in.Email); err != nil {
			return err
		} else if there {
			return fault.Invalid("email", "%s is a member already.", name)
		}
		if err := replaceInvitationTx(ctx, tx, who.Workspace, in.Email); err != nil {
			return err
		}
		if n, err := countInvitationsTx(ctx, tx, who.Workspace); err != nil {
			return err
		} else if n >= maxInvitations {
			return fault.New(fault.InUse, "%d invitations are open. Take some of them back first.", n)
		}
		var err error
		if in.Expires, err = insertInvitationTx(ctx, tx, who, in, token); err != nil {
			return err
		}
		return memberEventTx(ctx, tx, who, eventlog.MemberInvited, in.facts())
	})
	if err != nil {
		return "", PendingInvitation{}, err
	}
	s.wake.Publish(eventlog.Topic(who.Workspace))
	return token, in, nil
}

// mayInvite reports why the asker cannot invite with a role, nil where he can.
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

// Invitations lists the open links of the asker's workspace, newest first. It
// needs Manage. Fault: Forbidden.
func (s *memberService) Invitations(ctx context.Context, who tenancy.Principal) ([]PendingInvitation, error) {
	if !who.Can(tenancy.Manage) {
		return nil, fault.New(fault.Forbidden, "Invitations are seen by owners and admins.")
	}
	var list []PendingInvitation
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		var err error
		list, err = invitationsTx(ctx, tx, who.Workspace)
		return err
	})
	return list, err
}

// RevokeInvitation takes an open link back. It needs Manage, and Own for the
// link of an owner. Faults: Forbidden; NotFound for one that is over, unknown or
// another workspace's.
func (s *memberService) RevokeInvitation(ctx context.Context, who tenancy.Principal, id ids.ID) error {
	err := s.amongMembers(ctx, who, func(tx db.Tx, list members) error {
		in, there, err := invitationTx(ctx, tx, who.Workspace, id)
		if err != nil {
			return err
		}
		gives := giveable(list.role(who.Account))
		switch {
		case len(gives) == 0:
			return fault.New(fault.Forbidden, "Invitations are taken back by owners and admins.")
		case !there:
			return fault.New(fault.NotFound, "This invitation is not open any more.")
		case !slices.Contains(gives, in.Role):
			return fault.New(fault.Forbidden, "Only an owner takes an owner's invitation back.")
		}
		if ok, err := revokeInvitationTx(ctx, tx, who.Workspace, id); !ok {
			return guarded(err)
		}
		return memberEventTx(ctx, tx, who, eventlog.InvitationRevoked, in.facts())
	})
	if err == nil {
		s.wake.Publish(eventlog.Topic(who.Workspace))
	}
	return err
}

// OpenInvitation shows its holder what a link leads to. Fault: NotFound, one and
// the same for a link that is unknown, used, expired or taken back.
func (s *memberService) OpenInvitation(ctx context.Context, token string) (Invitation, error) {
	if kind, ok := secretKind(token); !ok || kind != secretInvitation {
		return Invitation{}, invitationOver()
	}
	var workspace ids.ID
	var found bool
	err := s.db.InToken(ctx, secretHash(token), func(tx db.Tx) error {
		var err error
		workspace, found, err = invitedToTx(ctx, tx, token)
		return err
	})
	if err != nil {
		return Invitation{}, err
	}
	if !found {
		return Invitation{}, invitationOver()
	}
	var in Invitation
	err = s.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
		in, found, err = openInvitationTx(ctx, tx, workspace, token)
		return err
	})
	if err != nil {
		return Invitation{}, err
	}
	if !found {
		return Invitation{}, invitationOver()
	}
	return in, nil
}

// AcceptInvitation makes an account a member with the link's role and uses the
// link up; see Joined.Already for one that is a member. Fault: NotFound as
// OpenInvitation.
func (s *memberService) AcceptInvitation(ctx context.Context, token string, account ids.ID) (Joined, error) {
	in, err := s.OpenInvitation(ctx, token)
	if err != nil {
		return Joined{}, err
	}
	var done Joined
	err = s.db.InWorkspace(ctx, in.Workspace, func(tx db.Tx) error {
		guest, ok, err := guestTx(ctx, tx, account)
		if err == nil && !ok {
			err = fault.New(fault.Unauthenticated, "This account is not there any more.")
		}
		if err != nil {
			return err
		}
		done, err = acceptInvitationTx(ctx, tx, in, guest)
		return err
	})
	if err != nil {
		return Joined{}, err
	}
	if !done.Already {
		s.membersChanged(in.Workspace)
	}
	return done, nil
}

// JoinAsNew makes an account with the link's e-mail, a name and a password of
// 12..128 characters and, in the same transaction, its membership: there is no
// account where the link was not used. Another e-mail is not taken: whoever holds
// a link could ask with it which addresses have accounts. Faults: NotFound as
// OpenInvitation; Validation (name, password, email), after which the link can
// still be used.
func (s *memberService) JoinAsNew(ctx context.Context, token, name, password string) (Account, Joined, error) {
	in, err := s.OpenInvitation(ctx, token)
	if err != nil {
		return Account{}, Joined{}, err
	}
	a := Account{ID: ids.New(), Name: strings.TrimSpace(name), Email: in.Email}
	if err := validatePerson(a.Name, a.Email, password); err != nil {
		return Account{}, Joined{}, err
	}
	hash, err := s.passwords.hash(ctx, asker{name: "invitations of " + in.Workspace.String(), known: true}, password)
	if err != nil {
		return Account{}, Joined{}, err
	}
	var done Joined
	err = s.db.InWorkspace(ctx, in.Workspace, func(tx db.Tx) error {
		if err := insertAccountTx(ctx, tx, a, hash); err != nil {
			return err
		}
		done, err = acceptInvitationTx(ctx, tx, in, a)
		return err
	})
	if fault.Is(err, fault.AlreadyExists) {
		// Maybe of this very link, opened by two at one moment.
		if _, over := s.OpenInvitation(ctx, token); over != nil {
			return Account{}, Joined{}, over
		}
		return Account{}, Joined{}, noNewAccount()
	}
	if err != nil {
		return Account{}, Joined{}, err
	}
	s.membersChanged(in.Workspace)
	return a, done, nil
}

// noNewAccount is the one answer wherever no account can be made with an e-mail.
func noNewAccount() error {
	return fault.Invalid("email",
		"No account can be made here. If you have one, log in with it; else ask for an invitation to another address.")
}

// acceptInvitationTx makes an account a member in a transaction of the
// invitation's workspace. The caller calls membersChanged after the commit,
// unless the account was a member already. NotFound where the link is over by
// now: the caller's transaction must then end, with all it has made.
func acceptInvitationTx(ctx context.Context, tx db.Tx, in Invitation, a Account) (Joined, error) {
	if err := lockMembersTx(ctx, tx, in.Workspace); err != nil {
		return Joined{}, err
	}
	done := Joined{Workspace: in.Workspace, Name: in.WorkspaceName, Role: in.Role}
	added, err := addMemberTx(ctx, tx, in.Workspace, a.ID, in.Role)
	if err != nil {
		return Joined{}, err
	}
	if !added {
		role, enabled, err := roleTx(ctx, tx, in.Workspace, a.ID)
		if err == nil && !enabled {
			err = fault.New(fault.Forbidden, "An owner of this workspace has disabled your account in it.")
		}
		if err != nil {
			return Joined{}, err
		}
		done.Role = role
		done.Already = true
		return done, nil
	}
	if _, ok, err := useInvitationTx(ctx, tx, in); err != nil {
		return Joined{}, err
	} else if !ok {
		return Joined{}, invitationOver()
	}
	who := tenancy.Principal{Kind: tenancy.KindPerson, Workspace: in.Workspace, Account: a.ID, Role: in.Role, Name: a.Name}
	facts := memberFacts(Member{Account: a.ID, Name: a.Name, Email: a.Email, Role: in.Role})
	facts["invited_by"], facts["invited_as"] = in.By, in.Email
	return done, memberEventTx(ctx, tx, who, eventlog.MemberJoined, facts)
}

// invitationOver is the one answer to every link that cannot be used.
func invitationOver() error {
	return fault.New(fault.NotFound,
		"This invitation cannot be used: a link works once, for seven days, and until it is taken back. Ask for a new one.")
}

// facts says in an event which invitation it is about.
func (in PendingInvitation) facts() map[string]any {
	return map[string]any{"invitation": in.ID, "email": in.Email, "role": in.Role}
}

// memberEventTx records what a person did to members, invitations or the
// workspace itself.
func memberEventTx(ctx context.Context, tx db.Tx, who tenancy.Principal, kind eventlog.Type, facts map[string]any,
	changes ...eventlog.Change) error {
	payload, err := json.Marshal(facts)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	return eventlog.AppendTx(ctx, tx, who.Workspace, eventlog.Event{
		Type: kind, Actor: who.Actor(), Payload: payload, Changes: changes,
	})
}
