package setup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// The first owner, until a person takes the account over.
const (
	OwnerName = "Owner"
	// OwnerEmail stands until the owner is set up. Nothing is ever sent to it.
	OwnerEmail = "owner@fleetboard.local"
)

// BootstrapInput is what the server's environment says about the first owner.
type BootstrapInput struct {
	// AdminEmail and AdminPassword set the owner up at once; both or neither.
	AdminEmail, AdminPassword string
	// DataDir is where the token files go.
	DataDir string
}

// Bootstrap is the result of a start.
type Bootstrap struct {
	// Workspace is the first one.
	Workspace ids.ID
	// SetupToken opens the set-up page; "" when the owner is set up.
	SetupToken string
}

// Bootstrap makes what a first start needs, and mends what an earlier start left
// undone: the workspace `default` with its product and owner, and the files
// owner-token and enrolment-token in the data directory. While the owner has no
// password, each start ends older set-up links and makes a new one. Any number
// of processes may do this at once. Faults: Validation for a bad e-mail or
// password of the environment.
func (s *Service) Bootstrap(ctx context.Context, in BootstrapInput) (Bootstrap, error) {
	workspace, err := s.firstWorkspace(ctx)
	if err != nil {
		return Bootstrap{}, fmt.Errorf("the first workspace: %w", err)
	}
	owner, setUp, err := s.owner(ctx, workspace)
	if err != nil {
		return Bootstrap{}, err
	}
	if !setUp && (in.AdminEmail != "" || in.AdminPassword != "") {
		if err := s.setUpFirst(ctx, owner, in); err != nil {
			return Bootstrap{}, fmt.Errorf("set up the owner: %w", err)
		}
		setUp = true
	}
	out := Bootstrap{Workspace: workspace}
	if !setUp {
		if out.SetupToken, err = s.freshSetupLink(ctx, owner); err != nil {
			return Bootstrap{}, fmt.Errorf("make a set-up link: %w", err)
		}
	}
	if err := s.tokenFiles(ctx, workspace, owner, in.DataDir); err != nil {
		return Bootstrap{}, err
	}
	return out, nil
}

// firstWorkspace finds the first workspace or makes it, whole or not at all.
func (s *Service) firstWorkspace(ctx context.Context) (ids.ID, error) {
	id, found, err := s.findFirst(ctx)
	if err != nil || found {
		return id, err
	}
	id = ids.New()
	made := false
	err = s.db.In(ctx, db.Workspace(id), func(tx db.Tx) error {
		made, err = makeFirstTx(ctx, tx, id)
		return err
	})
	if err != nil {
		return ids.Nil, err
	}
	if made {
		s.log.InfoContext(ctx, "first workspace made", "workspace", workspaces.FirstSlug)
		return id, nil
	}
	// Another process was faster; its transaction is over, for the insert waited.
	id, found, err = s.findFirst(ctx)
	if err == nil && !found {
		err = errors.New("it is there and cannot be seen")
	}
	return id, err
}

func (s *Service) findFirst(ctx context.Context) (id ids.ID, found bool, err error) {
	err = s.db.In(ctx, db.System, func(tx db.Tx) error {
		id, found, err = workspaceBySlugTx(ctx, tx, workspaces.FirstSlug)
		return err
	})
	return id, found, err
}

func (s *Service) owner(ctx context.Context, workspace ids.ID) (owner ids.ID, setUp bool, err error) {
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		owner, setUp, err = ownerTx(ctx, tx, workspace)
		return err
	})
	return owner, setUp, err
}

func (s *Service) setUpFirst(ctx context.Context, owner ids.ID, in BootstrapInput) error {
	email := people.NormalEmail(in.AdminEmail)
	fields := map[string]string{}
	if text := people.EmailProblem(email); text != "" {
		fields["FLEETBOARD_ADMIN_EMAIL"] = text
	}
	if text := passwords.Problem(in.AdminPassword); text != "" {
		fields["FLEETBOARD_ADMIN_PASSWORD"] = text
	}
	if len(fields) > 0 {
		refused := fault.InvalidFields(fields)
		// Read at a terminal, where only the message is seen.
		refused.Message = ""
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			refused.Message += name + ": " + fields[name] + " "
		}
		return refused
	}
	hash, err := s.passwords.Hash(ctx, passwords.Asker{Name: "start", Known: true}, in.AdminPassword)
	if err != nil {
		return err
	}
	return s.db.In(ctx, db.None, func(tx db.Tx) error { return setUpFirstTx(ctx, tx, owner, email, hash) })
}
