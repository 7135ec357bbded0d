package members

import (
	"context"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
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

// Invite makes a link that makes its holder a member: once, within seven days.
// It returns the link's token, which is not kept and cannot be shown again. An
// older link for the same e-mail ends. It needs Manage, and Own for an owner.
// Faults: Forbidden, Validation (email, role), InUse where very many are open.
func (s *Service) Invite(ctx context.Context, who tenancy.Principal, email string, role tenancy.Role) (string, PendingInvitation, error) {
	in := PendingInvitation{ID: ids.New(), Email: people.NormalEmail(email), Role: role, By: who.Name}
	wrong := fault.Problems{}
	if text := people.EmailProblem(in.Email); text != "" {
		wrong.Add("email", "%s", text)
	}
	if !slices.Contains(Roles, role) {
		wrong.Add("role", "Choose owner, admin, member or viewer.")
	}
	if err := wrong.Err(); err != nil {
		return "", PendingInvitation{}, err
	}
	token := secrets.New(secrets.Invitation)
	in.Hint = secrets.Hint(token)
	err := s.amongMembers(ctx, who, func(tx db.Tx, list members) error {
		if err := list.mayInvite(who, role); err != nil {
			return err
		}
		if name, there, err := memberByEmailTx(ctx, tx, who.Workspace, in.Email); err != nil {
			return err
		} else if there {
			return fault.Invalid("email", "%s is a member already.", name)
		}
		if err := q.InvitationReplace(ctx, tx, who.Workspace, in.Email); err != nil {
			return err
		}
		if n, err := q.InvitationCount(ctx, tx, who.Workspace, maxInvitations); err != nil {
			return err
		} else if n >= maxInvitations {
			return fault.New(fault.InUse, "%d invitations are open. Take some of them back first.", n)
		}
		var err error
		if in.Expires, err = insertInvitationTx(ctx, tx, who, in, token); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.MemberInvited, in.facts())
	})
	if err != nil {
		return "", PendingInvitation{}, err
	}
	s.wake.Publish(eventlog.Topic(who.Workspace))
	return token, in, nil
}

// Invitations lists the open links of the caller's workspace, newest first. It
// needs Manage. Fault: Forbidden.
func (s *Service) Invitations(ctx context.Context, who tenancy.Principal) ([]PendingInvitation, error) {
	if !who.Can(tenancy.Manage) {
		return nil, fault.New(fault.Forbidden, "Invitations are seen by owners and admins.")
	}
	var list []PendingInvitation
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		var err error
		list, err = invitationsTx(ctx, tx, who.Workspace)
		return err
	})
	return list, err
}

// RevokeInvitation takes an open link back. It needs Manage, and Own for the
// link of an owner. Faults: Forbidden; NotFound for one that is over, unknown or
// another workspace's.
func (s *Service) RevokeInvitation(ctx context.Context, who tenancy.Principal, id ids.ID) error {
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
		return eventlog.RecordTx(ctx, tx, who, eventlog.InvitationRevoked, in.facts())
	})
	if err == nil {
		s.wake.Publish(eventlog.Topic(who.Workspace))
	}
	return err
}

// facts says in an event which invitation it is about.
func (in PendingInvitation) facts() map[string]any {
	return map[string]any{"invitation": in.ID, "email": in.Email, "role": in.Role}
}
