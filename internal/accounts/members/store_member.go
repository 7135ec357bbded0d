package members

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// roleTx returns a member's role; false of one who is disabled.
func roleTx(ctx context.Context, tx db.Tx, workspace, account ids.ID) (tenancy.Role, bool, error) {
	role, err := q.MembershipRole(ctx, tx, workspace, account)
	ok, err := db.Found(err)
	return tenancy.Role(role), ok, err
}

func listTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Member, error) {
	rows, err := q.MemberList(ctx, tx, workspace)
	return db.Map(rows, err, func(r dbsqlc.MemberListRow) Member {
		return Member{Account: r.AccountID, Name: r.Name, Email: r.Email, Role: tenancy.Role(r.Role), Since: r.CreatedAt,
			Disabled: r.Disabled}
	})
}

// AddTx reports false where the account is a member already.
func AddTx(ctx context.Context, tx db.Tx, workspace, account ids.ID, role tenancy.Role) (bool, error) {
	n, err := q.MemberAdd(ctx, tx, workspace, account, string(role))
	return n > 0, err
}

func setRoleTx(ctx context.Context, tx db.Tx, workspace ids.ID, m Member, role tenancy.Role) (bool, error) {
	n, err := q.MemberSetRole(ctx, tx, string(role), workspace, m.Account, string(m.Role))
	return n > 0, err
}

func deleteMemberTx(ctx context.Context, tx db.Tx, workspace ids.ID, m Member) (bool, error) {
	n, err := q.MemberDelete(ctx, tx, workspace, m.Account, string(m.Role))
	return n > 0, err
}

func disableMemberTx(ctx context.Context, tx db.Tx, workspace, account ids.ID) (bool, error) {
	n, err := q.MemberDisable(ctx, tx, workspace, account)
	return n > 0, err
}

func enableMemberTx(ctx context.Context, tx db.Tx, workspace, account ids.ID) (bool, error) {
	n, err := q.MemberEnable(ctx, tx, workspace, account)
	return n > 0, err
}

// memberByEmailTx gives the name of the member with an address.
func memberByEmailTx(ctx context.Context, tx db.Tx, workspace ids.ID, email string) (string, bool, error) {
	name, err := q.MemberByEmail(ctx, tx, workspace, email)
	ok, err := db.Found(err)
	return name, ok, err
}

// lockMembersTx takes the lock that every change of a workspace's members takes.
func lockMembersTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	return q.NamedLock(ctx, tx, "owners "+workspace.String())
}
