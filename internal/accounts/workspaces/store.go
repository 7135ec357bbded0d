package workspaces

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

func membershipsTx(ctx context.Context, tx db.Tx, account ids.ID) ([]Workspace, string, error) {
	rows, err := q.MembershipList(ctx, tx, account)
	if err != nil {
		return nil, "", err
	}
	list, name := make([]Workspace, 0, len(rows)), ""
	for _, row := range rows {
		list = append(list, Workspace{ID: row.ID, Slug: row.Slug, Name: row.Name, Role: tenancy.Role(row.Role),
			NeedsFactor: row.NeedsFactor})
		name = row.AccountName
	}
	return list, name, nil
}

// requireFactorTx reports false where it was so before.
func requireFactorTx(ctx context.Context, tx db.Tx, workspace ids.ID, required bool) (bool, error) {
	n, err := q.WorkspaceRequireFactor(ctx, tx, required, workspace)
	return n > 0, err
}

// MakeTx makes a workspace with its counter and first product. False
// where the slug is taken.
func MakeTx(ctx context.Context, tx db.Tx, w Workspace) (bool, error) {
	n, err := q.WorkspaceInsert(ctx, tx, w.ID, w.Slug, w.Name)
	if err != nil || n == 0 {
		return false, err
	}
	if err := q.JobNumberInsert(ctx, tx, w.ID); err != nil {
		return false, err
	}
	if err := q.ProductInsertFirst(ctx, tx, w.ID, ids.New(), FirstProduct); err != nil {
		return false, err
	}
	return true, nil
}

func getTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Facts, error) {
	row, err := q.WorkspaceGet(ctx, tx, workspace)
	return Facts(row), err
}

func renameTx(ctx context.Context, tx db.Tx, workspace ids.ID, old, name string) (bool, error) {
	n, err := q.WorkspaceRename(ctx, tx, name, workspace, old)
	return n > 0, err
}
