package accounts

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// People.

func membershipsTx(ctx context.Context, tx db.Tx, account ids.ID) ([]Workspace, string, error) {
	rows, err := q.MembershipList(ctx, tx, account)
	if err != nil {
		return nil, "", fmt.Errorf("memberships: %w", err)
	}
	list, name := make([]Workspace, 0, len(rows)), ""
	for _, row := range rows {
		list = append(list, Workspace{ID: row.ID, Slug: row.Slug, Name: row.Name, Role: tenancy.Role(row.Role),
			NeedsFactor: row.NeedsFactor})
		name = row.AccountName
	}
	return list, name, nil
}

// roleTx is a member's role; false of one who is disabled.
func roleTx(ctx context.Context, tx db.Tx, workspace, account ids.ID) (tenancy.Role, bool, error) {
	role, err := q.MembershipRole(ctx, tx, dbsqlc.MembershipRoleParams{WorkspaceID: workspace, AccountID: account})
	ok, err := db.Found(err)
	return tenancy.Role(role), ok, err
}

// The first workspace.

func workspaceBySlugTx(ctx context.Context, tx db.Tx, slug string) (ids.ID, bool, error) {
	id, err := q.WorkspaceBySlug(ctx, tx, slug)
	ok, err := db.Found(err)
	return id, ok, err
}

// makeFirstTx makes the first workspace and its owner. False where another
// process has just made it.
func makeFirstTx(ctx context.Context, tx db.Tx, workspace ids.ID) (bool, error) {
	made, err := makeWorkspaceTx(ctx, tx, Workspace{ID: workspace, Slug: FirstSlug, Name: FirstName})
	if err != nil || !made {
		return false, err
	}
	owner := Account{ID: ids.New(), Email: ownerEmail, Name: ownerName}
	if err := insertAccountTx(ctx, tx, owner, ""); err != nil {
		return false, err
	}
	return addMemberTx(ctx, tx, workspace, owner.ID, tenancy.RoleOwner)
}

func ownerTx(ctx context.Context, tx db.Tx, workspace ids.ID) (owner ids.ID, setUp bool, err error) {
	row, err := q.MembershipOwner(ctx, tx, workspace)
	if err != nil {
		return ids.Nil, false, fmt.Errorf("the owner of the first workspace: %w", err)
	}
	return row.ID, row.PasswordHash != "", nil
}

// setUpFirstTx gives the owner e-mail and password unless a person chose them.
func setUpFirstTx(ctx context.Context, tx db.Tx, owner ids.ID, email, hash string) error {
	n, err := q.AccountSetUpFirst(ctx, tx, dbsqlc.AccountSetUpFirstParams{ID: owner, Email: email, PasswordHash: hash})
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
