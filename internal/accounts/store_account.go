package accounts

import (
	"context"
	"fmt"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

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
			Account: Account{ID: row.ID, Email: row.Email, Name: row.Name},
			Epoch:   row.SessionEpoch, NeedsCode: row.SecondFactor,
		},
		hash: row.PasswordHash,
	}, nil
}

func rehashTx(ctx context.Context, tx db.Tx, account ids.ID, old, hash string) error {
	return q.AccountRehash(ctx, tx, dbsqlc.AccountRehashParams{ID: account, OldHash: old, PasswordHash: hash})
}

// profileTx returns the account's password hash beside what may be shown.
func profileTx(ctx context.Context, tx db.Tx, account ids.ID) (Profile, string, error) {
	row, err := q.AccountProfile(ctx, tx, account)
	if err != nil {
		return Profile{}, "", fmt.Errorf("profile: %w", err)
	}
	return Profile{
		Name: row.Name, Email: row.Email, HasPassword: row.PasswordHash != "",
		SecondFactorSince: row.SecondFactorAt, CodesLeft: int(row.CodesLeft),
	}, row.PasswordHash, nil
}

func renameTx(ctx context.Context, tx db.Tx, account ids.ID, name string) error {
	return q.AccountRename(ctx, tx, dbsqlc.AccountRenameParams{ID: account, Name: name})
}

// changePasswordTx returns false where the password is not the old one any more.
func changePasswordTx(ctx context.Context, tx db.Tx, account ids.ID, old, hash string) (epoch int64, ok bool, err error) {
	epoch, err = q.AccountPassword(ctx, tx, dbsqlc.AccountPasswordParams{ID: account, OldHash: old, PasswordHash: hash})
	ok, err = db.Found(err)
	return epoch, ok, err
}

// appendTx records what a person changed of the own account, in the workspace
// the person is in.
func appendTx(ctx context.Context, tx db.Tx, who tenancy.Principal, e eventlog.Event) error {
	e.Actor = who.Actor()
	return eventlog.AppendTx(ctx, tx, who.Workspace, e)
}

// The throttle.

// takeAttemptTx counts one attempt, or returns the seconds to wait.
func takeAttemptTx(ctx context.Context, tx db.Tx, t counter) (wait int, err error) {
	_, err = q.LoginThrottleTake(ctx, tx, dbsqlc.LoginThrottleTakeParams{
		Subject: t.subject, Free: t.free, MaxSeconds: t.maxSeconds,
	})
	if taken, err := db.Found(err); taken || err != nil {
		return 0, err
	}
	seconds, err := q.LoginThrottleWait(ctx, tx, dbsqlc.LoginThrottleWaitParams{
		Subject: t.subject, Free: t.free, MaxSeconds: t.maxSeconds,
	})
	if found, err := db.Found(err); !found {
		// Forgotten between the two statements: the next attempt is free.
		return 1, err
	}
	return int(seconds), nil
}

// attemptRightTx takes back what takeAttemptTx counted, or all that was counted
// of a subject that starts afresh.
func attemptRightTx(ctx context.Context, tx db.Tx, try attempt) error {
	for _, t := range try {
		forget := q.LoginThrottleGiveBack
		if t.afresh {
			forget = q.LoginThrottleForget
		}
		if err := forget(ctx, tx, t.subject); err != nil {
			return err
		}
	}
	return nil
}

// attemptUndoneTx takes back an attempt that was never looked at.
func attemptUndoneTx(ctx context.Context, tx db.Tx, try attempt) error {
	for _, t := range try {
		if err := q.LoginThrottleGiveBack(ctx, tx, t.subject); err != nil {
			return err
		}
	}
	return nil
}

// Set-up links.

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
	return q.SetupLinkInsert(ctx, tx, dbsqlc.SetupLinkInsertParams{
		TokenHash: hash, AccountID: account, ValidSeconds: life.Seconds(),
	})
}

// setUpTx saves name, e-mail and password, and ends what was open under the
// account before.
func setUpTx(ctx context.Context, tx db.Tx, a Account, hash string) error {
	err := q.AccountSetUp(ctx, tx, dbsqlc.AccountSetUpParams{ID: a.ID, Email: a.Email, Name: a.Name, PasswordHash: hash})
	if err != nil {
		// The constraint's meaning, before the caller looks for it.
		return db.Fault(err)
	}
	if err := q.SetupLinkEndOfAccount(ctx, tx, a.ID); err != nil {
		return err
	}
	return q.SessionEndOfAccount(ctx, tx, &a.ID)
}

// Sessions.

// findSessionTx also says whether the session was last seen so long ago that this is
// to be noted.
func findSessionTx(ctx context.Context, tx db.Tx, hash []byte) (data []byte, found, unseen bool, err error) {
	row, err := q.SessionFind(ctx, tx, dbsqlc.SessionFindParams{TokenHash: hash, IdleSeconds: sessionIdle.Seconds()})
	found, err = db.Found(err)
	return row.Data, found, row.SeenLongAgo, err
}

// sessionSeenTx notes, at most once a minute, that the session is used.
func sessionSeenTx(ctx context.Context, tx db.Tx, hash []byte) error {
	return q.SessionSeen(ctx, tx, hash)
}

func commitSessionTx(ctx context.Context, tx db.Tx, s sessionRow) error {
	_, err := q.SessionCommit(ctx, tx, dbsqlc.SessionCommitParams{
		TokenHash: s.hash,
		AccountID: s.account,
		Epoch:     s.epoch,
		Half:      s.half,
		Data:      s.data,
		IP:        s.address,
		UserAgent: s.userAgent,
		ExpiresAt: s.expires,
	})
	return err
}

// endSessionTx returns false for a session that was over already.
func endSessionTx(ctx context.Context, tx db.Tx, hash []byte) (bool, error) {
	n, err := q.SessionEnd(ctx, tx, hash)
	return n > 0, err
}

func sessionsTx(ctx context.Context, tx db.Tx, account ids.ID, this []byte) ([]Session, error) {
	rows, err := q.SessionList(ctx, tx, dbsqlc.SessionListParams{
		TokenHash: this, AccountID: &account, IdleSeconds: sessionIdle.Seconds(),
	})
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	list := make([]Session, 0, len(rows))
	for _, row := range rows {
		list = append(list, Session{
			ID: row.ID, Address: row.IP, UserAgent: row.UserAgent,
			Since: row.CreatedAt, LastSeen: row.LastSeenAt, This: row.This,
		})
	}
	return list, nil
}

func endOneSessionTx(ctx context.Context, tx db.Tx, account, session ids.ID) (bool, error) {
	n, err := q.SessionEndOne(ctx, tx, dbsqlc.SessionEndOneParams{ID: session, AccountID: &account})
	return n > 0, err
}

// endOtherSessionsTx ends all of an account but one; nil spares none. It counts
// those that could still be used.
func endOtherSessionsTx(ctx context.Context, tx db.Tx, account ids.ID, spared []byte) (int, error) {
	if spared == nil {
		spared = []byte{}
	}
	n, err := q.SessionEndOthers(ctx, tx, dbsqlc.SessionEndOthersParams{
		AccountID: &account, TokenHash: spared, IdleSeconds: sessionIdle.Seconds(),
	})
	return int(n), err
}

func endEpochTx(ctx context.Context, tx db.Tx, account ids.ID) error {
	return q.AccountEndSessions(ctx, tx, account)
}

func sessionEpochTx(ctx context.Context, tx db.Tx, account ids.ID) (int64, error) {
	return q.AccountSessionEpoch(ctx, tx, account)
}

// expireSessionsTx deletes sessions that are over, at most so many.
func expireSessionsTx(ctx context.Context, tx db.Tx, rows int32) error {
	_, err := q.SessionExpire(ctx, tx, rows)
	return err
}

// expireLinksTx deletes set-up links that are over, at most so many.
func expireLinksTx(ctx context.Context, tx db.Tx, rows int32) error {
	_, err := q.SetupLinkExpire(ctx, tx, rows)
	return err
}

// expireAttemptsTx deletes counts of a day ago, at most so many.
func expireAttemptsTx(ctx context.Context, tx db.Tx, rows int32) error {
	_, err := q.LoginThrottleExpire(ctx, tx, rows)
	return err
}

// expireLogInsTx deletes log ins that nobody needs to know any more, at most so many.
func expireLogInsTx(ctx context.Context, tx db.Tx, rows int32) error {
	_, err := q.AccountLoginExpire(ctx, tx, rows)
	return err
}

// The second factor.

func beginTotpTx(ctx context.Context, tx db.Tx, account ids.ID, sealed []byte) (bool, error) {
	n, err := q.TotpBegin(ctx, tx, dbsqlc.TotpBeginParams{AccountID: account, Sealed: sealed})
	return n > 0, err
}

func pendingTotpTx(ctx context.Context, tx db.Tx, account ids.ID) ([]byte, bool, error) {
	sealed, err := q.TotpPending(ctx, tx, account)
	ok, err := db.Found(err)
	return sealed, ok, err
}

func confirmTotpTx(ctx context.Context, tx db.Tx, account ids.ID, sealed []byte, step int64) (bool, error) {
	n, err := q.TotpConfirm(ctx, tx, dbsqlc.TotpConfirmParams{AccountID: account, Sealed: sealed, Step: step})
	return n > 0, err
}

func totpTx(ctx context.Context, tx db.Tx, account ids.ID) ([]byte, bool, error) {
	sealed, err := q.TotpOf(ctx, tx, account)
	ok, err := db.Found(err)
	return sealed, ok, err
}

func useTotpTx(ctx context.Context, tx db.Tx, account ids.ID, sealed []byte, step int64) (bool, error) {
	n, err := q.TotpUse(ctx, tx, dbsqlc.TotpUseParams{AccountID: account, Sealed: sealed, Step: step})
	return n > 0, err
}

// resealTotpTx does nothing where another transaction has done it meanwhile.
func resealTotpTx(ctx context.Context, tx db.Tx, account ids.ID, sealed, anew []byte) error {
	return q.TotpReseal(ctx, tx, dbsqlc.TotpResealParams{AccountID: account, Sealed: sealed, Anew: anew})
}

// dropTotpTx takes the second factor and its recovery codes away.
func dropTotpTx(ctx context.Context, tx db.Tx, account ids.ID) (bool, error) {
	n, err := q.TotpDelete(ctx, tx, account)
	if err != nil || n == 0 {
		return false, err
	}
	return true, q.RecoveryCodeDelete(ctx, tx, account)
}

func useRecoveryCodeTx(ctx context.Context, tx db.Tx, account ids.ID, hash []byte) (bool, error) {
	n, err := q.RecoveryCodeUse(ctx, tx, dbsqlc.RecoveryCodeUseParams{AccountID: account, CodeHash: hash})
	return n > 0, err
}

func replaceRecoveryCodesTx(ctx context.Context, tx db.Tx, account ids.ID, hashes [][]byte) error {
	if err := q.RecoveryCodeDelete(ctx, tx, account); err != nil {
		return err
	}
	return q.RecoveryCodeInsert(ctx, tx, dbsqlc.RecoveryCodeInsertParams{AccountID: account, CodeHashes: hashes})
}
