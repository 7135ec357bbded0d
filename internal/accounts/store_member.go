package accounts

import (
	"context"
	"fmt"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// Members.

func membersTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Member, error) {
	rows, err := q.MemberList(ctx, tx, workspace)
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	list := make([]Member, len(rows))
	for i, r := range rows {
		list[i] = Member{Account: r.AccountID, Name: r.Name, Email: r.Email, Role: tenancy.Role(r.Role), Since: r.CreatedAt,
			Disabled: r.Disabled}
	}
	return list, nil
}

// addMemberTx reports false where the account is a member already.
func addMemberTx(ctx context.Context, tx db.Tx, workspace, account ids.ID, role tenancy.Role) (bool, error) {
	n, err := q.MemberAdd(ctx, tx, dbsqlc.MemberAddParams{WorkspaceID: workspace, AccountID: account, Role: string(role)})
	return n > 0, err
}

func setRoleTx(ctx context.Context, tx db.Tx, workspace ids.ID, m Member, role tenancy.Role) (bool, error) {
	n, err := q.MemberSetRole(ctx, tx, dbsqlc.MemberSetRoleParams{
		WorkspaceID: workspace, AccountID: m.Account, OldRole: string(m.Role), Role: string(role),
	})
	return n > 0, err
}

func deleteMemberTx(ctx context.Context, tx db.Tx, workspace ids.ID, m Member) (bool, error) {
	n, err := q.MemberDelete(ctx, tx, dbsqlc.MemberDeleteParams{
		WorkspaceID: workspace, AccountID: m.Account, OldRole: string(m.Role),
	})
	return n > 0, err
}

func disableMemberTx(ctx context.Context, tx db.Tx, workspace, account ids.ID) (bool, error) {
	n, err := q.MemberDisable(ctx, tx, dbsqlc.MemberDisableParams{WorkspaceID: workspace, AccountID: account})
	return n > 0, err
}

func enableMemberTx(ctx context.Context, tx db.Tx, workspace, account ids.ID) (bool, error) {
	n, err := q.MemberEnable(ctx, tx, dbsqlc.MemberEnableParams{WorkspaceID: workspace, AccountID: account})
	return n > 0, err
}

// requireFactorTx reports false where it was so before.
func requireFactorTx(ctx context.Context, tx db.Tx, workspace ids.ID, required bool) (bool, error) {
	n, err := q.WorkspaceRequireFactor(ctx, tx, dbsqlc.WorkspaceRequireFactorParams{ID: workspace, Required: required})
	return n > 0, err
}

func endMemberTokensTx(ctx context.Context, tx db.Tx, workspace, account ids.ID) error {
	return q.MemberTokensEnd(ctx, tx, dbsqlc.MemberTokensEndParams{WorkspaceID: workspace, AccountID: account})
}

// memberByEmailTx gives the name of the member with an address.
func memberByEmailTx(ctx context.Context, tx db.Tx, workspace ids.ID, email string) (string, bool, error) {
	name, err := q.MemberByEmail(ctx, tx, dbsqlc.MemberByEmailParams{WorkspaceID: workspace, Email: email})
	ok, err := db.Found(err)
	return name, ok, err
}

// lockMembersTx is the lock that every change of a workspace's members takes.
func lockMembersTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	return q.NamedLock(ctx, tx, "owners "+workspace.String())
}

// Invitations.

func insertInvitationTx(ctx context.Context, tx db.Tx, who tenancy.Principal, in PendingInvitation, token string) (time.Time, error) {
	return q.InvitationInsert(ctx, tx, dbsqlc.InvitationInsertParams{
		WorkspaceID: who.Workspace, ID: in.ID, Email: in.Email, Role: string(in.Role), TokenHash: secretHash(token),
		Hint: secretHint(token), InvitedBy: who.Account, ValidSeconds: invitationLife.Seconds(),
	})
}

func replaceInvitationTx(ctx context.Context, tx db.Tx, workspace ids.ID, email string) error {
	return q.InvitationReplace(ctx, tx, dbsqlc.InvitationReplaceParams{WorkspaceID: workspace, Email: email})
}

func countInvitationsTx(ctx context.Context, tx db.Tx, workspace ids.ID) (int64, error) {
	return q.InvitationCount(ctx, tx, dbsqlc.InvitationCountParams{WorkspaceID: workspace, MaxRows: maxInvitations})
}

func invitationsTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]PendingInvitation, error) {
	rows, err := q.InvitationList(ctx, tx, workspace)
	if err != nil {
		return nil, fmt.Errorf("invitations: %w", err)
	}
	list := make([]PendingInvitation, len(rows))
	for i, r := range rows {
		list[i] = PendingInvitation{ID: r.ID, Email: r.Email, Role: tenancy.Role(r.Role), Hint: r.Hint, By: r.InvitedBy,
			At: r.CreatedAt, Expires: r.ExpiresAt, Expired: r.Expired}
	}
	return list, nil
}

func invitationTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (PendingInvitation, bool, error) {
	row, err := q.InvitationGet(ctx, tx, dbsqlc.InvitationGetParams{WorkspaceID: workspace, ID: id})
	ok, err := db.Found(err)
	return PendingInvitation{ID: id, Email: row.Email, Role: tenancy.Role(row.Role)}, ok, err
}

func revokeInvitationTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (bool, error) {
	n, err := q.InvitationRevoke(ctx, tx, dbsqlc.InvitationRevokeParams{WorkspaceID: workspace, ID: id})
	return n > 0, err
}

// endInvitationsTx ends the open links of a member whose role is now another
// one, "" for none, and returns those that ended.
func endInvitationsTx(ctx context.Context, tx db.Tx, workspace, account ids.ID, role tenancy.Role) ([]PendingInvitation, error) {
	gives := []string{}
	for _, r := range giveable(role) {
		gives = append(gives, string(r))
	}
	rows, err := q.InvitationsEndOf(ctx, tx, dbsqlc.InvitationsEndOfParams{WorkspaceID: workspace, InvitedBy: account, StillGives: gives})
	if err != nil {
		return nil, fmt.Errorf("end the invitations of a member: %w", err)
	}
	list := make([]PendingInvitation, len(rows))
	for i, r := range rows {
		list[i] = PendingInvitation{ID: r.ID, Email: r.Email, Role: tenancy.Role(r.Role)}
	}
	return list, nil
}

// invitedToTx finds where an open link leads, in the transaction of its hash.
func invitedToTx(ctx context.Context, tx db.Tx, token string) (ids.ID, bool, error) {
	id, err := q.InvitationWorkspace(ctx, tx, secretHash(token))
	ok, err := db.Found(err)
	return id, ok, err
}

func openInvitationTx(ctx context.Context, tx db.Tx, workspace ids.ID, token string) (Invitation, bool, error) {
	row, err := q.InvitationOpen(ctx, tx, dbsqlc.InvitationOpenParams{WorkspaceID: workspace, TokenHash: secretHash(token)})
	if ok, err := db.Found(err); !ok {
		return Invitation{}, false, err
	}
	return Invitation{Workspace: workspace, WorkspaceName: row.WorkspaceName, Email: row.Email, Role: tenancy.Role(row.Role),
		By: row.InvitedBy, Expires: row.ExpiresAt, token: token}, true, nil
}

// useInvitationTx uses a link up and gives its role; false where it is over.
func useInvitationTx(ctx context.Context, tx db.Tx, in Invitation) (tenancy.Role, bool, error) {
	row, err := q.InvitationUse(ctx, tx, dbsqlc.InvitationUseParams{WorkspaceID: in.Workspace, TokenHash: secretHash(in.token)})
	ok, err := db.Found(err)
	return tenancy.Role(row.Role), ok, err
}

func guestTx(ctx context.Context, tx db.Tx, account ids.ID) (Account, bool, error) {
	row, err := q.InvitationGuest(ctx, tx, account)
	ok, err := db.Found(err)
	return Account{ID: account, Email: row.Email, Name: row.Name}, ok, err
}

// insertAccountTx makes an account; an empty hash is one without a password.
// AlreadyExists where another has the address.
func insertAccountTx(ctx context.Context, tx db.Tx, a Account, hash string) error {
	if err := q.AccountInsert(ctx, tx, dbsqlc.AccountInsertParams{ID: a.ID, Email: a.Email, Name: a.Name}); err != nil {
		return db.Fault(err)
	}
	if hash == "" {
		return nil
	}
	return q.AccountSetUp(ctx, tx, dbsqlc.AccountSetUpParams{ID: a.ID, Email: a.Email, Name: a.Name, PasswordHash: hash})
}

// Workspaces.

// makeWorkspaceTx makes a workspace with its counter and first product. False
// where the slug is taken.
func makeWorkspaceTx(ctx context.Context, tx db.Tx, w Workspace) (bool, error) {
	n, err := q.WorkspaceInsert(ctx, tx, dbsqlc.WorkspaceInsertParams{ID: w.ID, Slug: w.Slug, Name: w.Name})
	if err != nil || n == 0 {
		return false, err
	}
	if err := q.JobNumberInsert(ctx, tx, w.ID); err != nil {
		return false, err
	}
	product := dbsqlc.ProductInsertFirstParams{WorkspaceID: w.ID, ID: ids.New(), Name: firstProduct}
	if err := q.ProductInsertFirst(ctx, tx, product); err != nil {
		return false, err
	}
	return true, nil
}

func workspaceTx(ctx context.Context, tx db.Tx, workspace ids.ID) (WorkspaceFacts, error) {
	row, err := q.WorkspaceGet(ctx, tx, workspace)
	return WorkspaceFacts{Slug: row.Slug, Name: row.Name, Since: row.CreatedAt, NeedsFactor: row.RequireSecondFactor}, err
}

func renameWorkspaceTx(ctx context.Context, tx db.Tx, workspace ids.ID, old, name string) (bool, error) {
	n, err := q.WorkspaceRename(ctx, tx, dbsqlc.WorkspaceRenameParams{ID: workspace, OldName: old, Name: name})
	return n > 0, err
}
