package identities

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
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
func (s *Service) LogInAs(ctx context.Context, c oidc.Claims) (login.LoggedIn, error) {
	var who login.LoggedIn
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		var ok bool
		var err error
		if who, ok, err = logInTx(ctx, tx, c); err == nil && !ok {
			return fault.New(fault.NotFound, "No account belongs to this identity.")
		}
		return err
	})
	return who, err
}

// Account returns the account that has an identity, and notes no use of
// it; false where none has.
func (s *Service) Account(ctx context.Context, c oidc.Claims) (people.Account, bool, error) {
	var a people.Account
	var known bool
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		id, ok, err := holderTx(ctx, tx, c)
		if err != nil || !ok {
			return err
		}
		a, known, err = people.FindTx(ctx, tx, id)
		return err
	})
	return a, known, err
}

// Of says what the caller's account has at a provider.
func (s *Service) Of(ctx context.Context, who tenancy.Principal, issuer string) (Identity, error) {
	var out Identity
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		var err error
		out, err = ofTx(ctx, tx, who.Account, issuer)
		return err
	})
	return out, err
}

// Link lets the caller log in as somebody at a provider. Where the account
// has a password it has to be given, from the network address addr: a session
// that was left open must not become a way in that stays. Faults: Forbidden,
// Validation (current), TooMany, AlreadyExists where the identity is another
// account's or the account has another one there.
func (s *Service) Link(ctx context.Context, who tenancy.Principal, c oidc.Claims, password, addr string) error {
	if who.Kind != tenancy.KindPerson {
		return fault.New(fault.Forbidden, "Only a person has an identity.")
	}
	at, err := s.Of(ctx, who, c.Issuer)
	if err != nil {
		return err
	}
	if at.HasPassword {
		if _, err := s.login.ConfirmPassword(ctx, who.Account, password, addr); err != nil {
			return err
		}
	}
	linked := false
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		var err error
		linked, err = insertTx(ctx, tx, who.Account, c)
		if err != nil {
			return err
		}
		if !linked {
			return takenTx(ctx, tx, who.Account, c)
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.IdentityLinked, map[string]string{"issuer": c.Issuer, "email": c.Email})
	})
	if err == nil && linked {
		s.wake.Publish(eventlog.Topic(who.Workspace))
		s.log.InfoContext(ctx, "identity linked", "account", who.Account)
	}
	return err
}

// takenTx says why an identity could not be linked to an account: nil
// where it is linked to it already.
func takenTx(ctx context.Context, tx db.Tx, account ids.ID, c oidc.Claims) error {
	holder, taken, err := holderTx(ctx, tx, c)
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

// Unlink takes that way in away; without a link it does nothing. Fault:
// InUse for an account without a password, which could not be entered any more.
func (s *Service) Unlink(ctx context.Context, who tenancy.Principal, issuer string) error {
	unlinked := false
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		// A password is never taken away, so what is seen here stays true.
		at, err := ofTx(ctx, tx, who.Account, issuer)
		if err != nil || !at.Linked {
			return err
		}
		if !at.HasPassword {
			return fault.New(fault.InUse, "This is the only way into your account, so it stays linked. Set a password first.")
		}
		email, ok, err := deleteTx(ctx, tx, who.Account, issuer)
		if err != nil || !ok {
			return err
		}
		unlinked = true
		return eventlog.RecordTx(ctx, tx, who, eventlog.IdentityUnlinked, map[string]string{"issuer": issuer, "email": email})
	})
	if err == nil && unlinked {
		s.wake.Publish(eventlog.Topic(who.Workspace))
		s.log.InfoContext(ctx, "identity unlinked", "account", who.Account)
	}
	return err
}
