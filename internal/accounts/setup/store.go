package setup

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

func workspaceBySlugTx(ctx context.Context, tx db.Tx, slug string) (ids.ID, bool, error) {
	id, err := q.WorkspaceBySlug(ctx, tx, slug)
	ok, err := db.Found(err)
	return id, ok, err
}

// makeFirstTx makes the first workspace and its owner. False where another
// process has just made it.
func makeFirstTx(ctx context.Context, tx db.Tx, workspace ids.ID) (bool, error) {
	made, err := workspaces.MakeTx(ctx, tx, workspaces.Workspace{ID: workspace, Slug: workspaces.FirstSlug, Name: workspaces.FirstName})
	if err != nil || !made {
		return false, err
	}
	owner := people.Account{ID: ids.New(), Email: OwnerEmail, Name: OwnerName}
	if err := people.InsertTx(ctx, tx, owner, ""); err != nil {
		return false, err
	}
	return members.AddTx(ctx, tx, workspace, owner.ID, tenancy.RoleOwner)
}

func ownerTx(ctx context.Context, tx db.Tx, workspace ids.ID) (owner ids.ID, setUp bool, err error) {
	row, err := q.MembershipOwner(ctx, tx, workspace)
	if err != nil {
		return ids.Nil, false, err
	}
	return row.ID, row.PasswordHash != "", nil
}

// setUpFirstTx gives the owner e-mail and password unless a person chose them.
func setUpFirstTx(ctx context.Context, tx db.Tx, owner ids.ID, email, hash string) error {
	n, err := q.AccountSetUpFirst(ctx, tx, email, hash, owner)
	if err != nil || n == 0 {
		return err
	}
	return q.SetupLinkEndOfAccount(ctx, tx, owner)
}

// lockTx lets one process at a time go on with what the name says, until its
// transaction ends.
func lockTx(ctx context.Context, tx db.Tx, name string) error {
	return q.NamedLock(ctx, tx, name)
}

func setupLinkValidTx(ctx context.Context, tx db.Tx, hash []byte) (bool, error) {
	return q.SetupLinkValid(ctx, tx, hash)
}

func useSetupLinkTx(ctx context.Context, tx db.Tx, hash []byte) (ids.ID, bool, error) {
	account, err := q.SetupLinkUse(ctx, tx, hash)
	ok, err := db.Found(err)
	return account, ok, err
}

func replaceSetupLinkTx(ctx context.Context, tx db.Tx, account ids.ID, hash []byte, life time.Duration) error {
	if err := q.SetupLinkEndOfAccount(ctx, tx, account); err != nil {
		return err
	}
	return q.SetupLinkInsert(ctx, tx, hash, account, life.Seconds())
}

// setUpTx saves name, e-mail and password, and ends what was open under the
// account before.
func setUpTx(ctx context.Context, tx db.Tx, a people.Account, hash string) error {
	err := q.AccountSetUp(ctx, tx, a.Email, a.Name, hash, a.ID)
	if err != nil {
		// The constraint's meaning, before the caller looks for it.
		return db.Fault(err)
	}
	if err := q.SetupLinkEndOfAccount(ctx, tx, a.ID); err != nil {
		return err
	}
	return q.SessionEndOfAccount(ctx, tx, &a.ID)
}

// ExpireTx deletes set-up links that are over, at most so many.
func ExpireTx(ctx context.Context, tx db.Tx, rows int) error {
	_, err := q.SetupLinkExpire(ctx, tx, rows)
	return err
}
