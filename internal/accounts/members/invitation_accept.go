package members

import (
	"context"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

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

// OpenInvitation shows its holder what a link leads to. Fault: NotFound, one and
// the same for a link that is unknown, used, expired or taken back.
func (s *Service) OpenInvitation(ctx context.Context, token string) (Invitation, error) {
	if kind, ok := secrets.Kind(token); !ok || kind != secrets.Invitation {
		return Invitation{}, invitationOver()
	}
	var workspace ids.ID
	var found bool
	err := s.db.In(ctx, db.Token(secrets.Hash(token)), func(tx db.Tx) error {
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
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
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

// Accept makes an account a member with the link's role and uses the
// link up; see Joined.Already for one that is a member. Fault: NotFound as
// OpenInvitation.
func (s *Service) Accept(ctx context.Context, token string, account ids.ID) (Joined, error) {
	in, err := s.OpenInvitation(ctx, token)
	if err != nil {
		return Joined{}, err
	}
	var done Joined
	err = s.db.In(ctx, db.Workspace(in.Workspace), func(tx db.Tx) error {
		guest, ok, err := people.FindTx(ctx, tx, account)
		if err == nil && !ok {
			err = fault.New(fault.Unauthenticated, "This account is not there any more.")
		}
		if err != nil {
			return err
		}
		done, err = AcceptTx(ctx, tx, in, guest)
		return err
	})
	if err != nil {
		return Joined{}, err
	}
	if !done.Already {
		s.Changed(in.Workspace)
	}
	return done, nil
}

// JoinAsNew makes an account with the link's e-mail, a name and a password of
// 12..128 characters and, in the same transaction, its membership: there is no
// account where the link was not used. Another e-mail is not taken: whoever holds
// a link could ask with it which addresses have accounts. Faults: NotFound as
// OpenInvitation; Validation (name, password, email), after which the link can
// still be used.
func (s *Service) JoinAsNew(ctx context.Context, token, name, password string) (people.Account, Joined, error) {
	in, err := s.OpenInvitation(ctx, token)
	if err != nil {
		return people.Account{}, Joined{}, err
	}
	a := people.Account{ID: ids.New(), Name: strings.TrimSpace(name), Email: in.Email}
	if err := people.Validate(a.Name, a.Email, password); err != nil {
		return people.Account{}, Joined{}, err
	}
	hash, err := s.passwords.Hash(ctx, passwords.Asker{Name: "invitations of " + in.Workspace.String(), Known: true}, password)
	if err != nil {
		return people.Account{}, Joined{}, err
	}
	var done Joined
	err = s.db.In(ctx, db.Workspace(in.Workspace), func(tx db.Tx) error {
		if err := people.InsertTx(ctx, tx, a, hash); err != nil {
			return err
		}
		done, err = AcceptTx(ctx, tx, in, a)
		return err
	})
	if fault.Is(err, fault.AlreadyExists) {
		// Maybe of this very link, opened by two at one moment.
		if _, over := s.OpenInvitation(ctx, token); over != nil {
			return people.Account{}, Joined{}, over
		}
		return people.Account{}, Joined{}, NoNewAccount()
	}
	if err != nil {
		return people.Account{}, Joined{}, err
	}
	s.Changed(in.Workspace)
	return a, done, nil
}

// NoNewAccount returns the one answer wherever no account can be made with an e-mail.
func NoNewAccount() error {
	return fault.Invalid("email",
		"No account can be made here. If you have one, log in with it; else ask for an invitation to another address.")
}

// AcceptTx makes an account a member in a transaction of the
// invitation's workspace. The caller calls membersChanged after the commit,
// unless the account was a member already. NotFound where the link is over by
// now: the caller's transaction must then end, with all it has made.
func AcceptTx(ctx context.Context, tx db.Tx, in Invitation, a people.Account) (Joined, error) {
	if err := lockMembersTx(ctx, tx, in.Workspace); err != nil {
		return Joined{}, err
	}
	done := Joined{Workspace: in.Workspace, Name: in.WorkspaceName, Role: in.Role}
	added, err := AddTx(ctx, tx, in.Workspace, a.ID, in.Role)
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
	return done, eventlog.RecordTx(ctx, tx, who, eventlog.MemberJoined, facts)
}

// invitationOver returns the one answer to every link that cannot be used.
func invitationOver() error {
	return fault.New(fault.NotFound,
		"This invitation cannot be used: a link works once, for seven days, and until it is taken back. Ask for a new one.")
}
