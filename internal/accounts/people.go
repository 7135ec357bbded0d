package accounts

import (
	"context"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// Account is a person.
type Account struct {
	ID    ids.ID
	Email string
	Name  string
}

// Workspace is one that a person belongs to, and as what.
type Workspace struct {
	ID   ids.ID
	Slug string
	Name string
	Role tenancy.Role
}

// Workspaces lists an account's workspaces by name; empty where it has none.
func (s *Service) Workspaces(ctx context.Context, account ids.ID) ([]Workspace, error) {
	list, _, err := s.memberships(ctx, account)
	return list, err
}

// Person returns a signed-in account as the one who asks in a workspace; ids.Nil
// takes the first by name. An account that is not in it, or in none, is
// Unauthenticated.
func (s *Service) Person(ctx context.Context, account, workspace ids.ID) (tenancy.Principal, error) {
	list, name, err := s.memberships(ctx, account)
	if err != nil {
		return tenancy.Principal{}, err
	}
	for _, w := range list {
		if workspace == ids.Nil || w.ID == workspace {
			return tenancy.Principal{
				Kind:      tenancy.KindPerson,
				Workspace: w.ID,
				Account:   account,
				Role:      w.Role,
				Name:      name,
			}, nil
		}
	}
	return tenancy.Principal{}, fault.New(fault.Unauthenticated, "This account is in no workspace.")
}

func (s *Service) memberships(ctx context.Context, account ids.ID) (list []Workspace, name string, err error) {
	err = s.db.InAccount(ctx, account, func(tx db.Tx) error {
		list, name, err = membershipsTx(ctx, tx, account)
		return err
	})
	return list, name, err
}
