package workspaces

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Workspace is one that a person belongs to, and as what.
type Workspace struct {
	ID   ids.ID
	Slug string
	Name string
	Role tenancy.Role
	// NeedsFactor is set where the person has to set up a second factor first.
	NeedsFactor bool
}

// First reports whether it is the one that the first start made, whose tokens lie
// in the data directory.
func (w Workspace) First() bool { return w.Slug == FirstSlug }

// Of lists an account's workspaces by name; empty where it has none.
func (s *Service) Of(ctx context.Context, account ids.ID) ([]Workspace, error) {
	list, _, err := s.memberships(ctx, account)
	return list, err
}

// Person returns a signed-in account as the caller in a workspace. Where it
// is not in that one, it is the first by name: who was removed from a workspace
// goes on in another. An account in none is Unauthenticated.
func (s *Service) Person(ctx context.Context, account, workspace ids.ID) (tenancy.Principal, error) {
	list, name, err := s.memberships(ctx, account)
	if err != nil {
		return tenancy.Principal{}, err
	}
	if len(list) == 0 {
		return tenancy.Principal{}, fault.New(fault.Unauthenticated, "This account is in no workspace.")
	}
	in := list[0]
	for _, w := range list {
		if w.ID == workspace {
			in = w
		}
	}
	return tenancy.Principal{Kind: tenancy.KindPerson, Workspace: in.ID, Account: account, Role: in.Role, NeedsFactor: in.NeedsFactor,
		Name: name}, nil
}

func (s *Service) memberships(ctx context.Context, account ids.ID) (list []Workspace, name string, err error) {
	err = s.db.In(ctx, db.Account(account), func(tx db.Tx) error {
		list, name, err = membershipsTx(ctx, tx, account)
		return err
	})
	return list, name, err
}
