package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// none tells an empty answer from a failure: (false, nil) where err only says
// that there was no row.
func none(err error) (bool, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Access tokens.

func tokenByHashTx(ctx context.Context, tx db.Tx, hash []byte) (accessToken, bool, error) {
	row, err := q.AccessTokenByHash(ctx, tx, hash)
	if ok, err := none(err); !ok {
		return accessToken{}, false, err
	}
	t := accessToken{
		workspace: row.WorkspaceID,
		id:        row.ID,
		kind:      row.Kind,
		name:      row.Name,
		scope:     tenancy.Scope{Products: row.Products, Capabilities: row.Capabilities, Factory: row.Factory},
		revoked:   row.Revoked,
		expired:   row.Expired,
		oldUse:    row.UseIsOld,
	}
	if row.AccountID != nil {
		t.account = *row.AccountID
	}
	return t, true, nil
}

func insertTokenTx(ctx context.Context, tx db.Tx, who tenancy.Principal, in NewToken, plain string) error {
	row := dbsqlc.AccessTokenInsertParams{
		WorkspaceID:  who.Workspace,
		ID:           ids.New(),
		Kind:         string(in.Kind),
		Name:         in.Name,
		TokenHash:    secretHash(plain),
		Hint:         secretHint(plain),
		Products:     append([]string{}, in.Products...),
		Capabilities: append([]string{}, in.Capabilities...),
		Factory:      in.Factory,
		CreatedBy:    who.Name,
		ExpiresAt:    in.ExpiresAt,
	}
	if in.Kind == tenancy.KindPerson {
		row.AccountID = &who.Account
	}
	return q.AccessTokenInsert(ctx, tx, row)
}

func tokenUsedTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) error {
	return q.AccessTokenUsed(ctx, tx, dbsqlc.AccessTokenUsedParams{WorkspaceID: workspace, ID: id})
}

func revokeTokenTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID, anyOwner bool) (bool, error) {
	n, err := q.AccessTokenRevoke(ctx, tx, dbsqlc.AccessTokenRevokeParams{
		WorkspaceID: who.Workspace, ID: id, AnyOwner: anyOwner, AccountID: who.Account,
	})
	return n > 0, err
}

func revokeNamedTx(ctx context.Context, tx db.Tx, workspace ids.ID, kind tenancy.Kind, name string) error {
	return q.AccessTokenRevokeNamed(ctx, tx, dbsqlc.AccessTokenRevokeNamedParams{
		WorkspaceID: workspace, Kind: string(kind), Name: name,
	})
}

// People.

func membershipsTx(ctx context.Context, tx db.Tx, account ids.ID) ([]Workspace, string, error) {
	rows, err := q.MembershipList(ctx, tx, account)
	if err != nil {
		return nil, "", fmt.Errorf("memberships: %w", err)
	}
	list, name := make([]Workspace, 0, len(rows)), ""
	for _, row := range rows {
		list = append(list, Workspace{ID: row.ID, Slug: row.Slug, Name: row.Name, Role: tenancy.Role(row.Role)})
		name = row.AccountName
	}
	return list, name, nil
}

func memberTx(ctx context.Context, tx db.Tx, workspace, account ids.ID) (tenancy.Role, string, bool, error) {
	row, err := q.MembershipOf(ctx, tx, dbsqlc.MembershipOfParams{WorkspaceID: workspace, AccountID: account})
	ok, err := none(err)
	return tenancy.Role(row.Role), row.AccountName, ok, err
}

// accountByEmailTx returns an empty hash where there is no such account, as for
// one without a password.
func accountByEmailTx(ctx context.Context, tx db.Tx, email string) (Account, string, error) {
	row, err := q.AccountByEmail(ctx, tx, email)
	if ok, err := none(err); !ok {
		return Account{}, "", err
	}
	return Account{ID: row.ID, Email: row.Email, Name: row.Name}, row.PasswordHash, nil
}

func rehashTx(ctx context.Context, tx db.Tx, account ids.ID, old, hash string) error {
	return q.AccountRehash(ctx, tx, dbsqlc.AccountRehashParams{ID: account, OldHash: old, PasswordHash: hash})
}

// The throttle.

// takeAttemptTx counts one attempt, or returns the seconds to wait.
func takeAttemptTx(ctx context.Context, tx db.Tx, t throttle) (wait int, err error) {
	_, err = q.LoginThrottleTake(ctx, tx, dbsqlc.LoginThrottleTakeParams{
		Subject: t.subject, Free: t.free, MaxSeconds: maxWaitSeconds,
	})
	if taken, err := none(err); taken || err != nil {
		return 0, err
	}
	seconds, err := q.LoginThrottleWait(ctx, tx, dbsqlc.LoginThrottleWaitParams{
		Subject: t.subject, Free: t.free, MaxSeconds: maxWaitSeconds,
	})
	if found, err := none(err); !found {
		// Forgotten between the two statements: the next attempt is free.
		return 1, err
	}
	return int(seconds), nil
}

// attemptRightTx takes back what takeAttemptTx counted. The account starts
// afresh; the address does not, or one known password would free all guesses.
func attemptRightTx(ctx context.Context, tx db.Tx, byAddress, byAccount []byte) error {
	if err := q.LoginThrottleGiveBack(ctx, tx, byAddress); err != nil {
		return err
	}
	return q.LoginThrottleForget(ctx, tx, byAccount)
}

// Set-up links.

func setupLinkValidTx(ctx context.Context, tx db.Tx, hash []byte) (bool, error) {
	return q.SetupLinkValid(ctx, tx, hash)
}

func useSetupLinkTx(ctx context.Context, tx db.Tx, hash []byte) (ids.ID, bool, error) {
	account, err := q.SetupLinkUse(ctx, tx, hash)
	ok, err := none(err)
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

func findSessionTx(ctx context.Context, tx db.Tx, hash []byte) ([]byte, bool, error) {
	data, err := q.SessionFind(ctx, tx, hash)
	ok, err := none(err)
	return data, ok, err
}

func commitSessionTx(ctx context.Context, tx db.Tx, s sessionRow) error {
	_, err := q.SessionCommit(ctx, tx, dbsqlc.SessionCommitParams{
		TokenHash: s.hash,
		AccountID: s.account,
		Data:      s.data,
		IP:        s.address,
		UserAgent: s.userAgent,
		ExpiresAt: s.expires,
	})
	return err
}

func endSessionTx(ctx context.Context, tx db.Tx, hash []byte) error {
	return q.SessionEnd(ctx, tx, hash)
}

func expireTx(ctx context.Context, tx db.Tx, rows int32) error {
	if _, err := q.SessionExpire(ctx, tx, rows); err != nil {
		return fmt.Errorf("expire sessions: %w", err)
	}
	if _, err := q.SetupLinkExpire(ctx, tx, rows); err != nil {
		return fmt.Errorf("expire set-up links: %w", err)
	}
	if _, err := q.LoginThrottleExpire(ctx, tx, rows); err != nil {
		return fmt.Errorf("expire log-in counts: %w", err)
	}
	return nil
}

// The first workspace.

func workspaceBySlugTx(ctx context.Context, tx db.Tx, slug string) (ids.ID, bool, error) {
	id, err := q.WorkspaceBySlug(ctx, tx, slug)
	ok, err := none(err)
	return id, ok, err
}

// makeWorkspaceTx makes workspace, counter, first product and owner. False
// where another process has just made it.
func makeWorkspaceTx(ctx context.Context, tx db.Tx, workspace ids.ID) (bool, error) {
	n, err := q.WorkspaceInsert(ctx, tx, dbsqlc.WorkspaceInsertParams{ID: workspace, Slug: firstSlug, Name: firstName})
	if err != nil || n == 0 {
		return false, err
	}
	if err := q.JobNumberInsert(ctx, tx, workspace); err != nil {
		return false, err
	}
	product := dbsqlc.ProductInsertFirstParams{WorkspaceID: workspace, ID: ids.New(), Name: firstProduct}
	if err := q.ProductInsertFirst(ctx, tx, product); err != nil {
		return false, err
	}
	owner := ids.New()
	if err := q.AccountInsert(ctx, tx, dbsqlc.AccountInsertParams{ID: owner, Email: ownerEmail, Name: ownerName}); err != nil {
		return false, err
	}
	err = q.MembershipInsert(ctx, tx, dbsqlc.MembershipInsertParams{
		WorkspaceID: workspace, AccountID: owner, Role: string(tenancy.RoleOwner),
	})
	return err == nil, err
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
