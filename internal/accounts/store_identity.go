package accounts

import (
	"context"
	"encoding/json"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// identityLogInTx finds whose an identity is and notes its use.
func identityLogInTx(ctx context.Context, tx db.Tx, c Claims) (LoggedIn, bool, error) {
	row, err := q.IdentityLogIn(ctx, tx, dbsqlc.IdentityLogInParams{Issuer: c.Issuer, Subject: c.Subject, Email: c.Email})
	if ok, err := db.Found(err); !ok {
		return LoggedIn{}, false, err
	}
	return LoggedIn{Account: Account{ID: row.ID, Email: row.Email, Name: row.Name}, Epoch: row.SessionEpoch}, true, nil
}

func identityOfTx(ctx context.Context, tx db.Tx, account ids.ID, issuer string) (Identity, error) {
	row, err := q.IdentityOf(ctx, tx, dbsqlc.IdentityOfParams{AccountID: account, Issuer: issuer})
	if err != nil {
		return Identity{}, fmt.Errorf("identity: %w", err)
	}
	out := Identity{HasPassword: row.HasPassword, LastUsed: row.LastUsedAt}
	if row.CreatedAt != nil && row.Email != nil {
		out.Linked, out.Email, out.Since = true, *row.Email, *row.CreatedAt
	}
	return out, nil
}

// identityHolderTx says whose an identity is, without noting a use.
func identityHolderTx(ctx context.Context, tx db.Tx, c Claims) (ids.ID, bool, error) {
	account, err := q.IdentityHolder(ctx, tx, dbsqlc.IdentityHolderParams{Issuer: c.Issuer, Subject: c.Subject})
	ok, err := db.Found(err)
	return account, ok, err
}

// insertIdentityTx reports false where the identity is somebody's already, or
// the account has another one at this provider.
func insertIdentityTx(ctx context.Context, tx db.Tx, account ids.ID, c Claims) (bool, error) {
	n, err := q.IdentityInsert(ctx, tx, dbsqlc.IdentityInsertParams{
		Issuer: c.Issuer, Subject: c.Subject, AccountID: account, Email: c.Email,
	})
	return n > 0, err
}

// deleteIdentityTx gives the e-mail that the provider knew; false where there
// was nothing to delete.
func deleteIdentityTx(ctx context.Context, tx db.Tx, account ids.ID, issuer string) (string, bool, error) {
	email, err := q.IdentityDelete(ctx, tx, dbsqlc.IdentityDeleteParams{AccountID: account, Issuer: issuer})
	ok, err := db.Found(err)
	return email, ok, err
}

// identityEventTx records what a person did to the own ways in.
func identityEventTx(ctx context.Context, tx db.Tx, who tenancy.Principal, kind eventlog.Type, issuer, email string) error {
	payload, err := json.Marshal(map[string]string{"issuer": issuer, "email": email})
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	return appendTx(ctx, tx, who, eventlog.Event{Type: kind, Payload: payload})
}
