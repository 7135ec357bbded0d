package people

import (
	"context"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Profile is what a person sees of the own account.
type Profile struct {
	Name  string
	Email string
	// HasPassword is false for a person who only comes by the identity provider.
	HasPassword bool
	// SecondFactorSince is nil where the second factor is off.
	SecondFactorSince *time.Time
	// CodesLeft is how many recovery codes were not used yet.
	CodesLeft int
}

// Profile returns the caller's own account. Fault: Forbidden for what is no person.
func (s *Service) Profile(ctx context.Context, who tenancy.Principal) (Profile, error) {
	if err := OnlyPeople(who); err != nil {
		return Profile{}, err
	}
	var p Profile
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		var err error
		p, _, err = ProfileTx(ctx, tx, who.Account)
		return err
	})
	return p, err
}

// Rename changes the name that others see, 1..100 characters. The same name is
// no change. Faults: Validation with the field name, Forbidden.
func (s *Service) Rename(ctx context.Context, who tenancy.Principal, name string) error {
	if err := OnlyPeople(who); err != nil {
		return err
	}
	name = strings.TrimSpace(name)
	if text := NameProblem(name); text != "" {
		return fault.Invalid("name", "%s", text)
	}
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		was, _, err := ProfileTx(ctx, tx, who.Account)
		if err != nil || was.Name == name {
			return err
		}
		if err := q.AccountRename(ctx, tx, name, who.Account); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.AccountRenamed, nil, eventlog.Change{Field: "name", Old: was.Name, New: name})
	})
}

// Guest returns an account by its id, also one that is in no workspace. Fault:
// Unauthenticated where there is none.
func (s *Service) Guest(ctx context.Context, account ids.ID) (Account, error) {
	var a Account
	var ok bool
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		var err error
		a, ok, err = FindTx(ctx, tx, account)
		return err
	})
	if err == nil && !ok {
		err = fault.New(fault.Unauthenticated, "This account is not there any more.")
	}
	return a, err
}
