package accounts

import (
	"context"
	"strings"
	"time"

	"fleetboard/db"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// Identity is what an account has at an identity provider.
type Identity struct {
	Linked bool
	// Email is what the provider said last, "" where it says none.
	Email    string
	Since    time.Time
	LastUsed *time.Time
	// HasPassword is whether the account has another way in.
	HasPassword bool
}

// LogInAs returns the account of somebody whom a provider has vouched for. Only
// issuer and subject are looked at. The provider's word is enough: the second
// factor of the account belongs to its password. Fault: NotFound where no account
// has this identity.
func (s *identityService) LogInAs(ctx context.Context, c Claims) (LoggedIn, error) {
	var who LoggedIn
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		var ok bool
		var err error
		if who, ok, err = identityLogInTx(ctx, tx, c); err == nil && !ok {
			return fault.New(fault.NotFound, "No account belongs to this identity.")
		}
		return err
	})
	return who, err
}

// IdentityAccount returns the account that has an identity, and notes no use of
// it; false where none has.
func (s *identityService) IdentityAccount(ctx context.Context, c Claims) (Account, bool, error) {
	var a Account
	var known bool
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		id, ok, err := identityHolderTx(ctx, tx, c)
		if err != nil || !ok {
			return err
		}
		a, known, err = guestTx(ctx, tx, id)
		return err
	})
	return a, known, err
}

// IdentityOf says what the asker's account has at a provider.
func (s *identityService) IdentityOf(ctx context.Context, who tenancy.Principal, issuer string) (Identity, error) {
	var out Identity
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		var err error
		out, err = identityOfTx(ctx, tx, who.Account, issuer)
		return err
	})
	return out, err
}

// LinkIdentity lets the asker log in as somebody at a provider. Where the account
// has a password it has to be given, from the network address addr: a session
// that was left open must not become a way in that stays. Faults: Forbidden,
// Validation (current), TooMany, AlreadyExists where the identity is another
// account's or the account has another one there.
func (s *identityService) LinkIdentity(ctx context.Context, who tenancy.Principal, c Claims, password, addr string) error {
	if who.Kind != tenancy.KindPerson {
		return fault.New(fault.Forbidden, "Only a person has an identity.")
	}
	at, err := s.IdentityOf(ctx, who, c.Issuer)
	if err != nil {
		return err
	}
	if at.HasPassword {
		if _, err := s.login.confirmPassword(ctx, who.Account, password, addr); err != nil {
			return err
		}
	}
	linked := false
	err = s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		var err error
		linked, err = insertIdentityTx(ctx, tx, who.Account, c)
		if err != nil {
			return err
		}
		if !linked {
			return identityTakenTx(ctx, tx, who.Account, c)
		}
		return identityEventTx(ctx, tx, who, eventlog.IdentityLinked, c.Issuer, c.Email)
	})
	if err == nil && linked {
		s.wake.Publish(eventlog.Topic(who.Workspace))
		s.log.InfoContext(ctx, "identity linked", "account", who.Account)
	}
	return err
}

// identityTakenTx says why an identity could not be linked to an account: nil
// where it is linked to it already.
func identityTakenTx(ctx context.Context, tx db.Tx, account ids.ID, c Claims) error {
	holder, taken, err := identityHolderTx(ctx, tx, c)
	switch {
	case err != nil:
		return err
	case !taken:
		return fault.New(fault.AlreadyExists, "Your account is linked to another identity there. Unlink that one first.")
	case holder != account:
		return fault.New(fault.AlreadyExists,
			"This identity belongs to another account here. Unlink it there first, or log in there as somebody else.")
	}
	return nil
}

// UnlinkIdentity takes that way in away; without a link it does nothing. Fault:
// InUse for an account without a password, which could not be entered any more.
func (s *identityService) UnlinkIdentity(ctx context.Context, who tenancy.Principal, issuer string) error {
	unlinked := false
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		// A password is never taken away, so what is seen here stays true.
		at, err := identityOfTx(ctx, tx, who.Account, issuer)
		if err != nil || !at.Linked {
			return err
		}
		if !at.HasPassword {
			return fault.New(fault.InUse, "This is the only way into your account, so it stays linked. Set a password first.")
		}
		email, ok, err := deleteIdentityTx(ctx, tx, who.Account, issuer)
		if err != nil || !ok {
			return err
		}
		unlinked = true
		return identityEventTx(ctx, tx, who, eventlog.IdentityUnlinked, issuer, email)
	})
	if err == nil && unlinked {
		s.wake.Publish(eventlog.Topic(who.Workspace))
		s.log.InfoContext(ctx, "identity unlinked", "account", who.Account)
	}
	return err
}

// JoinAs accepts an invitation as somebody whom a provider has vouched for. An
// identity that no account has gets one, without a password, in the transaction
// of the membership. Faults: NotFound as OpenInvitation; Validation (email), one
// and the same where the provider says no e-mail and where an account has it.
func (s *identityService) JoinAs(ctx context.Context, token string, c Claims) (LoggedIn, Joined, error) {
	in, err := s.members.OpenInvitation(ctx, token)
	if err != nil {
		return LoggedIn{}, Joined{}, err
	}
	who, done, err := s.joinAs(ctx, in, c)
	if fault.Is(err, fault.Validation) {
		// Another browser may have made the account of this identity at the same moment.
		who, done, err = s.joinAs(ctx, in, c)
	}
	if err != nil {
		return LoggedIn{}, Joined{}, err
	}
	if !done.Already {
		s.members.membersChanged(in.Workspace)
	}
	return who, done, nil
}

func (s *identityService) joinAs(ctx context.Context, in Invitation, c Claims) (who LoggedIn, done Joined, err error) {
	err = s.db.InWorkspace(ctx, in.Workspace, func(tx db.Tx) error {
		if who, err = identityAccountTx(ctx, tx, in.Workspace, c); err != nil {
			return err
		}
		done, err = acceptInvitationTx(ctx, tx, in, who.Account)
		return err
	})
	return who, done, err
}

// identityAccountTx finds the account of an identity or makes it.
func identityAccountTx(ctx context.Context, tx db.Tx, workspace ids.ID, c Claims) (LoggedIn, error) {
	who, known, err := identityLogInTx(ctx, tx, c)
	if err != nil || known {
		return who, err
	}
	if checkEmail(c.Email) != "" {
		return LoggedIn{}, noNewAccount()
	}
	if c.Name = strings.TrimSpace(c.Name); c.Name == "" {
		c.Name = c.Email
	}
	who.Account = Account{ID: ids.New(), Email: c.Email, Name: cut(c.Name, MaxName)}
	if err := insertAccountTx(ctx, tx, who.Account, ""); err != nil {
		if fault.Is(err, fault.AlreadyExists) {
			return LoggedIn{}, noNewAccount()
		}
		return LoggedIn{}, err
	}
	if ok, err := insertIdentityTx(ctx, tx, who.ID, c); err != nil {
		return LoggedIn{}, err
	} else if !ok {
		return LoggedIn{}, fault.New(fault.VersionConflict, "Somebody has just used this identity. Begin again.")
	}
	person := tenancy.Principal{Kind: tenancy.KindPerson, Workspace: workspace, Account: who.ID, Name: who.Name}
	return who, identityEventTx(ctx, tx, person, eventlog.IdentityLinked, c.Issuer, c.Email)
}
