package people

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// ProfileTx returns the account's password hash beside what may be shown.
func ProfileTx(ctx context.Context, tx db.Tx, account ids.ID) (Profile, string, error) {
	row, err := q.AccountProfile(ctx, tx, account)
	if err != nil {
		return Profile{}, "", err
	}
	return Profile{
		Name: row.Name, Email: row.Email, HasPassword: row.PasswordHash != "",
		SecondFactorSince: row.SecondFactorAt, CodesLeft: int(row.CodesLeft),
	}, row.PasswordHash, nil
}

// FindTx finds an account by its id, also one that is in no workspace; false where
// there is none.
func FindTx(ctx context.Context, tx db.Tx, account ids.ID) (Account, bool, error) {
	row, err := q.InvitationGuest(ctx, tx, account)
	ok, err := db.Found(err)
	return Account{ID: account, Email: row.Email, Name: row.Name}, ok, err
}

// InsertTx makes an account; an empty hash is one without a password.
// AlreadyExists where another has the address.
func InsertTx(ctx context.Context, tx db.Tx, a Account, hash string) error {
	if err := q.AccountInsert(ctx, tx, a.ID, a.Email, a.Name); err != nil {
		return db.Fault(err)
	}
	if hash == "" {
		return nil
	}
	return q.AccountSetUp(ctx, tx, a.Email, a.Name, hash, a.ID)
}
