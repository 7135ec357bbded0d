package members

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func insertInvitationTx(ctx context.Context, tx db.Tx, who tenancy.Principal, in PendingInvitation, token string) (time.Time, error) {
	return q.InvitationInsert(ctx, tx, dbsqlc.InvitationInsertParams{
		WorkspaceID: who.Workspace, ID: in.ID, Email: in.Email, Role: string(in.Role), TokenHash: secrets.Hash(token),
		Hint: secrets.Hint(token), InvitedBy: who.Account, ValidSeconds: invitationLife.Seconds(),
	})
}

func invitationsTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]PendingInvitation, error) {
	rows, err := q.InvitationList(ctx, tx, workspace)
	return db.Map(rows, err, func(r dbsqlc.InvitationListRow) PendingInvitation {
		return PendingInvitation{ID: r.ID, Email: r.Email, Role: tenancy.Role(r.Role), Hint: r.Hint, By: r.InvitedBy,
			At: r.CreatedAt, Expires: r.ExpiresAt, Expired: r.Expired}
	})
}

func invitationTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (PendingInvitation, bool, error) {
	row, err := q.InvitationGet(ctx, tx, workspace, id)
	ok, err := db.Found(err)
	return PendingInvitation{ID: id, Email: row.Email, Role: tenancy.Role(row.Role)}, ok, err
}

func revokeInvitationTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (bool, error) {
	n, err := q.InvitationRevoke(ctx, tx, workspace, id)
	return n > 0, err
}

// endInvitationsTx ends the open links of a member whose role is now another
// one, "" for none, and returns those that ended.
func endInvitationsTx(ctx context.Context, tx db.Tx, workspace, account ids.ID, role tenancy.Role) ([]PendingInvitation, error) {
	gives := []string{}
	for _, r := range giveable(role) {
		gives = append(gives, string(r))
	}
	rows, err := q.InvitationsEndOf(ctx, tx, workspace, account, gives)
	return db.Map(rows, err, func(r dbsqlc.InvitationsEndOfRow) PendingInvitation {
		return PendingInvitation{ID: r.ID, Email: r.Email, Role: tenancy.Role(r.Role)}
	})
}

// invitedToTx finds where an open link leads, in the transaction of its hash.
func invitedToTx(ctx context.Context, tx db.Tx, token string) (ids.ID, bool, error) {
	id, err := q.InvitationWorkspace(ctx, tx, secrets.Hash(token))
	ok, err := db.Found(err)
	return id, ok, err
}

func openInvitationTx(ctx context.Context, tx db.Tx, workspace ids.ID, token string) (Invitation, bool, error) {
	row, err := q.InvitationOpen(ctx, tx, workspace, secrets.Hash(token))
	if ok, err := db.Found(err); !ok {
		return Invitation{}, false, err
	}
	return Invitation{Workspace: workspace, WorkspaceName: row.WorkspaceName, Email: row.Email, Role: tenancy.Role(row.Role),
		By: row.InvitedBy, Expires: row.ExpiresAt, token: token}, true, nil
}

// useInvitationTx uses a link up and gives its role; false where it is over.
func useInvitationTx(ctx context.Context, tx db.Tx, in Invitation) (tenancy.Role, bool, error) {
	row, err := q.InvitationUse(ctx, tx, in.Workspace, secrets.Hash(in.token))
	ok, err := db.Found(err)
	return tenancy.Role(row.Role), ok, err
}
