package accounts

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"fleetboard/db"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
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

// Profile returns the asker's own account. Fault: Forbidden for what is no person.
func (s *personService) Profile(ctx context.Context, who tenancy.Principal) (Profile, error) {
	if err := onlyPeople(who); err != nil {
		return Profile{}, err
	}
	var p Profile
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		var err error
		p, _, err = profileTx(ctx, tx, who.Account)
		return err
	})
	return p, err
}

// Rename changes the name that others see, 1..100 characters. The same name is
// no change. Faults: Validation with the field name, Forbidden.
func (s *personService) Rename(ctx context.Context, who tenancy.Principal, name string) error {
	if err := onlyPeople(who); err != nil {
		return err
	}
	name = strings.TrimSpace(name)
	if text := checkName(name); text != "" {
		return fault.Invalid("name", "%s", text)
	}
	return s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		was, _, err := profileTx(ctx, tx, who.Account)
		if err != nil || was.Name == name {
			return err
		}
		if err := renameTx(ctx, tx, who.Account, name); err != nil {
			return err
		}
		return appendTx(ctx, tx, who, eventlog.Event{
			Type: eventlog.AccountRenamed, Changes: []eventlog.Change{{Field: "name", Old: was.Name, New: name}},
		})
	})
}

// Guest is an account by its id, also one that is in no workspace. Fault:
// Unauthenticated where there is none.
func (s *personService) Guest(ctx context.Context, account ids.ID) (Account, error) {
	var a Account
	var ok bool
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		var err error
		a, ok, err = guestTx(ctx, tx, account)
		return err
	})
	if err == nil && !ok {
		err = fault.New(fault.Unauthenticated, "This account is not there any more.")
	}
	return a, err
}

// onlyPeople refuses agents, enrolment tokens and loops.
func onlyPeople(who tenancy.Principal) error {
	if who.Kind != tenancy.KindPerson {
		return fault.New(fault.Forbidden, "Only a person has an account.")
	}
	return nil
}

// checkName returns what is wrong with a person's name, "" if nothing.
func checkName(name string) string {
	if n := utf8.RuneCountInString(name); n < 1 || n > MaxName || !storable(name) {
		return fmt.Sprintf("Use 1 to %d characters.", MaxName)
	}
	return ""
}
