package login

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// credentials are what a log in is checked against.
type credentials struct {
	LoggedIn
	hash string // "" for an account without a password, and for none
}

// accountByEmailTx returns an empty hash where there is no such account, as for
// one without a password.
func accountByEmailTx(ctx context.Context, tx db.Tx, email string) (credentials, error) {
	row, err := q.AccountByEmail(ctx, tx, email)
	if ok, err := db.Found(err); !ok {
		return credentials{}, err
	}
	return credentials{
		LoggedIn: LoggedIn{
			Account: people.Account{ID: row.ID, Email: row.Email, Name: row.Name},
			Epoch:   row.SessionEpoch, NeedsCode: row.SecondFactor,
		},
		hash: row.PasswordHash,
	}, nil
}

// changePasswordTx returns false where the password is not the old one any more.
func changePasswordTx(ctx context.Context, tx db.Tx, account ids.ID, old, hash string) (epoch int64, ok bool, err error) {
	epoch, err = q.AccountPassword(ctx, tx, hash, account, old)
	ok, err = db.Found(err)
	return epoch, ok, err
}

// ExpireTx deletes log ins that nobody needs to know any more, at most so many.
func ExpireTx(ctx context.Context, tx db.Tx, rows int) error {
	_, err := q.AccountLoginExpire(ctx, tx, rows)
	return err
}

func insertLogInTx(ctx context.Context, tx db.Tx, account ids.ID, from devices.Origin, userAgent, token string, known bool) error {
	_, err := q.AccountLoginInsert(ctx, tx, dbsqlc.AccountLoginInsertParams{
		AccountID: account, ID: ids.New(), KnownDevice: known, TokenHash: secrets.Hash(token),
		Address: people.Cut(from.Address, maxAddress), Network: passwords.Site(from.Address),
		UserAgent: people.Cut(userAgent, sessions.MaxUserAgent),
	})
	return err
}

func newLogInsTx(ctx context.Context, tx db.Tx, account ids.ID, token string) ([]LogInNews, error) {
	rows, err := q.AccountLoginNews(ctx, tx, account, secrets.Hash(token))
	return db.Map(rows, err, func(r dbsqlc.AccountLoginNewsRow) LogInNews { return LogInNews(r) })
}

// settleLogInTx returns where the log in came from, and its session where there is
// one; false where it is settled or the token's own.
func settleLogInTx(ctx context.Context, tx db.Tx, account, login ids.ID, token string) (address string, session *ids.ID, ok bool,
	err error) {
	row, err := q.AccountLoginSettle(ctx, tx, account, login, secrets.Hash(token))
	ok, err = db.Found(err)
	return row.Address, row.SessionID, ok, err
}
