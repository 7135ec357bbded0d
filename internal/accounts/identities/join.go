package identities

import (
	"context"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// JoinAs accepts an invitation as somebody whom a provider has vouched for. An
// identity that no account has gets one, without a password, in the transaction
// of the membership. Faults: NotFound as OpenInvitation; Validation (email), one
// and the same where the provider says no e-mail and where an account has it.
func (s *Service) JoinAs(ctx context.Context, token string, c oidc.Claims) (login.LoggedIn, members.Joined, error) {
	in, err := s.members.OpenInvitation(ctx, token)
	if err != nil {
		return login.LoggedIn{}, members.Joined{}, err
	}
	who, done, err := s.joinAs(ctx, in, c)
	if fault.Is(err, fault.Validation) {
		// Another browser may have made the account of this identity at the same moment.
		who, done, err = s.joinAs(ctx, in, c)
	}
	if err != nil {
		return login.LoggedIn{}, members.Joined{}, err
	}
	if !done.Already {
		s.members.Changed(in.Workspace)
	}
	return who, done, nil
}

func (s *Service) joinAs(ctx context.Context, in members.Invitation, c oidc.Claims) (who login.LoggedIn, done members.Joined, err error) {
	err = s.db.In(ctx, db.Workspace(in.Workspace), func(tx db.Tx) error {
		if who, err = accountTx(ctx, tx, in.Workspace, c); err != nil {
			return err
		}
		done, err = members.AcceptTx(ctx, tx, in, who.Account)
		return err
	})
	return who, done, err
}

// accountTx finds the account of an identity or makes it.
func accountTx(ctx context.Context, tx db.Tx, workspace ids.ID, c oidc.Claims) (login.LoggedIn, error) {
	who, known, err := logInTx(ctx, tx, c)
	if err != nil || known {
		return who, err
	}
	if people.EmailProblem(c.Email) != "" {
		return login.LoggedIn{}, members.NoNewAccount()
	}
	if c.Name = strings.TrimSpace(c.Name); c.Name == "" {
		c.Name = c.Email
	}
	who.Account = people.Account{ID: ids.New(), Email: c.Email, Name: people.Cut(c.Name, people.MaxName)}
	if err := people.InsertTx(ctx, tx, who.Account, ""); err != nil {
		if fault.Is(err, fault.AlreadyExists) {
			return login.LoggedIn{}, members.NoNewAccount()
		}
		return login.LoggedIn{}, err
	}
	if ok, err := insertTx(ctx, tx, who.ID, c); err != nil {
		return login.LoggedIn{}, err
	} else if !ok {
		return login.LoggedIn{}, fault.New(fault.VersionConflict, "Somebody has just used this identity. Begin again.")
	}
	person := tenancy.Principal{Kind: tenancy.KindPerson, Workspace: workspace, Account: who.ID, Name: who.Name}
	return who, eventlog.RecordTx(ctx, tx, person, eventlog.IdentityLinked, map[string]string{"issuer": c.Issuer, "email": c.Email})
}
