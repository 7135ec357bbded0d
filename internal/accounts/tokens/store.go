package tokens

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

func tokenByHashTx(ctx context.Context, tx db.Tx, hash []byte) (accessToken, bool, error) {
	row, err := q.AccessTokenByHash(ctx, tx, hash)
	if ok, err := db.Found(err); !ok {
		return accessToken{}, false, err
	}
	t := accessToken{
		workspace: row.WorkspaceID,
		id:        row.ID,
		kind:      row.Kind,
		name:      row.Name,
		scope:     tenancy.Scope{Products: row.Products, Capabilities: row.Capabilities, Factory: row.Factory},
		maySubmit: row.MaySubmit,
		roles:     row.Roles,
		revoked:   row.Revoked,
		expired:   row.Expired,
		oldUse:    row.UseIsOld,

		needsFactor: row.NeedsFactor,
	}
	if row.AccountID != nil {
		t.account = *row.AccountID
	}
	if row.Role != nil && row.AccountName != nil {
		t.role, t.owner = tenancy.Role(*row.Role), *row.AccountName
	}
	return t, true, nil
}

// insertTokenTx reports false where the same form has made a token before.
func insertTokenTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID, in NewToken, hash []byte, hint string) (bool, error) {
	row := dbsqlc.AccessTokenInsertParams{
		WorkspaceID:  who.Workspace,
		ID:           id,
		Kind:         string(in.Kind),
		Name:         in.Name,
		TokenHash:    hash,
		Hint:         hint,
		Products:     append([]string{}, in.Products...),
		Capabilities: append([]string{}, in.Capabilities...),
		Factory:      in.Factory,
		MaySubmit:    in.MaySubmit,
		Roles:        append([]string{}, in.Roles...),
		CreatedBy:    who.Name,
		ExpiresAt:    in.ExpiresAt,
		FormKey:      in.FormKey,
	}
	if in.Kind == tenancy.KindPerson {
		row.AccountID = &who.Account
	}
	n, err := q.AccessTokenInsert(ctx, tx, row)
	return n > 0, err
}

func listTokensTx(ctx context.Context, tx db.Tx, who tenancy.Principal, enrolment bool) ([]Token, error) {
	rows, err := q.AccessTokenList(ctx, tx, who.Workspace, who.Account, enrolment, maxListed)
	if err != nil {
		return nil, err
	}
	list := make([]Token, 0, len(rows))
	for _, row := range rows {
		t := Token{
			ID: row.ID, Kind: tenancy.Kind(row.Kind), Name: row.Name, Hint: row.Hint,
			Scope:     tenancy.Scope{Products: row.Products, Capabilities: row.Capabilities, Factory: row.Factory},
			CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt,
			MaySubmit: row.MaySubmit, Roles: row.Roles, Agents: row.Agents, Now: row.Now, State: Live,
		}
		switch {
		case row.RevokedAt != nil:
			t.State, t.EndedAt = Revoked, *row.RevokedAt
		case !row.Live:
			t.State, t.EndedAt = Expired, *row.ExpiresAt
		}
		list = append(list, t)
	}
	return list, nil
}

// liveTokensTx counts those of a kind; one at a time counts and makes.
func liveTokensTx(ctx context.Context, tx db.Tx, who tenancy.Principal, kind tenancy.Kind) (int, error) {
	if err := q.NamedLock(ctx, tx, "tokens:"+who.Workspace.String()); err != nil {
		return 0, err
	}
	n, err := q.AccessTokenLive(ctx, tx, who.Workspace, string(kind), who.Account)
	return n, err
}

func unknownProductsTx(ctx context.Context, tx db.Tx, workspace ids.ID, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	return q.ProductNamesUnknown(ctx, tx, names, workspace)
}

// revokeTokenTx reports what it ended; before is set where it had ended already,
// and found is false where there is none for the caller.
func revokeTokenTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID, anyOwner bool) (t Token, before, found bool,
	err error) {
	row, err := q.AccessTokenRevoke(ctx, tx, anyOwner, who.Account, who.Workspace, id)
	if found, err = db.Found(err); !found {
		return Token{}, false, false, err
	}
	t = Token{
		ID:   id,
		Kind: tenancy.Kind(row.Kind),
		Name: row.Name,
		Hint: row.Hint,
		Scope: tenancy.Scope{
			Products:     row.Products,
			Capabilities: row.Capabilities,
			Factory:      row.Factory,
		},
		MaySubmit: row.MaySubmit,
		Roles:     row.Roles,
	}
	if t.Kind == tenancy.KindEnrolment && !row.Before {
		err = putRevocationTx(ctx, tx, who.Workspace, id, EndedRevoked, 0)
	}
	return t, row.Before, true, err
}

// revokeOwnTokensTx ends a person's live tokens of one workspace.
func revokeOwnTokensTx(ctx context.Context, tx db.Tx, who tenancy.Principal) ([]Token, error) {
	rows, err := q.AccessTokenRevokeOwn(ctx, tx, who.Workspace, who.Account)
	return db.Map(rows, err, func(row dbsqlc.AccessTokenRevokeOwnRow) Token {
		return Token{Kind: tenancy.KindPerson, Name: row.Name, Hint: row.Hint}
	})
}

// RevokeNamedTx ends the live tokens of a kind and name, and the agents of
// enrolment tokens with them.
func RevokeNamedTx(ctx context.Context, tx db.Tx, workspace ids.ID, kind tenancy.Kind, name string) error {
	ended, err := q.AccessTokenRevokeNamed(ctx, tx, workspace, string(kind), name)
	if err != nil || kind != tenancy.KindEnrolment {
		return err
	}
	for _, id := range ended {
		if err := putRevocationTx(ctx, tx, workspace, id, EndedRevoked, 0); err != nil {
			return err
		}
	}
	return nil
}
