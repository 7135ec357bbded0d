package identities

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// logInTx finds whose an identity is and notes its use.
func logInTx(ctx context.Context, tx db.Tx, c oidc.Claims) (login.LoggedIn, bool, error) {
	row, err := q.IdentityLogIn(ctx, tx, c.Email, c.Issuer, c.Subject)
	if ok, err := db.Found(err); !ok {
		return login.LoggedIn{}, false, err
	}
	return login.LoggedIn{Account: people.Account{ID: row.ID, Email: row.Email, Name: row.Name}, Epoch: row.SessionEpoch}, true, nil
}

func ofTx(ctx context.Context, tx db.Tx, account ids.ID, issuer string) (Identity, error) {
	row, err := q.IdentityOf(ctx, tx, issuer, account)
	if err != nil {
		return Identity{}, err
	}
	out := Identity{HasPassword: row.HasPassword, LastUsed: row.LastUsedAt}
	if row.CreatedAt != nil && row.Email != nil {
		out.Linked, out.Email, out.Since = true, *row.Email, *row.CreatedAt
	}
	return out, nil
}

// holderTx says whose an identity is, without noting a use.
func holderTx(ctx context.Context, tx db.Tx, c oidc.Claims) (ids.ID, bool, error) {
	account, err := q.IdentityHolder(ctx, tx, c.Issuer, c.Subject)
	ok, err := db.Found(err)
	return account, ok, err
}

// insertTx reports false where the identity is somebody's already, or
// the account has another one at this provider.
func insertTx(ctx context.Context, tx db.Tx, account ids.ID, c oidc.Claims) (bool, error) {
	n, err := q.IdentityInsert(ctx, tx, c.Issuer, c.Subject, account, c.Email)
	return n > 0, err
}

// deleteTx gives the e-mail that the provider knew; false where there
// was nothing to delete.
func deleteTx(ctx context.Context, tx db.Tx, account ids.ID, issuer string) (string, bool, error) {
	email, err := q.IdentityDelete(ctx, tx, account, issuer)
	ok, err := db.Found(err)
	return email, ok, err
}
