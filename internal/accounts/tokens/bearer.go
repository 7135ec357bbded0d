package tokens

import (
	"context"
	"errors"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// accessToken is a stored token as its bearer sees it.
type accessToken struct {
	workspace, id, account   ids.ID
	kind, name               string
	scope                    tenancy.Scope
	role                     tenancy.Role // its person's, "" of one who has left
	owner                    string       // its person's name
	needsFactor              bool
	revoked, expired, oldUse bool
	maySubmit                bool
	roles                    []string
}

// Bearer says who holds a token: a person's, an enrolment token or an agent's
// (which costs no SQL where Watch runs). Faults: Unauthenticated without a token,
// TokenInvalid, Expired, Revoked; Superseded, with the principal beside
// it, for an agent that was started again since.
func (s *Service) Bearer(ctx context.Context, token string) (tenancy.Principal, error) {
	switch {
	case token == "":
		return tenancy.Principal{}, fault.New(fault.Unauthenticated, "Send a token as 'Authorization: Bearer <token>'.")
	case len(token) > MaxBearer:
		return tenancy.Principal{}, invalidToken(errors.New("too long"))
	case !strings.HasPrefix(token, "fb_"):
		who, err := s.agentBearer(ctx, token)
		if who == nil {
			return tenancy.Principal{}, err
		}
		return *who, err
	}
	return s.storedBearer(ctx, token)
}

// storedBearer says whom a token stands for that is looked up.
func (s *Service) storedBearer(ctx context.Context, token string) (tenancy.Principal, error) {
	kind, ok := secrets.Kind(token)
	if !ok || (kind != secrets.Person && kind != secrets.Enrolment) {
		return tenancy.Principal{}, invalidToken(errors.New("wrong form, kind or checksum"))
	}
	found, err := s.findToken(ctx, secrets.Hash(token), kind)
	if err != nil {
		return tenancy.Principal{}, err
	}
	return s.tokenPrincipal(ctx, found)
}

func (s *Service) findToken(ctx context.Context, hash []byte, kind string) (accessToken, error) {
	var found accessToken
	err := s.db.In(ctx, db.Token(hash), func(tx db.Tx) error {
		var ok bool
		var err error
		found, ok, err = tokenByHashTx(ctx, tx, hash)
		if err == nil && (!ok || found.kind != kind) {
			return invalidToken(errors.New("unknown"))
		}
		return err
	}, db.OneRead)
	switch {
	case err != nil:
		return accessToken{}, err
	case found.revoked:
		return accessToken{}, fault.New(fault.TokenRevoked, "The token was revoked.")
	case found.expired:
		return accessToken{}, fault.New(fault.TokenExpired, "The token has expired.")
	case kind == secrets.Person && found.role == "":
		return accessToken{}, fault.New(fault.TokenRevoked, "The token's owner is no longer in the workspace, or is disabled there.")
	case found.needsFactor:
		return accessToken{}, fault.New(fault.Forbidden,
			"The workspace asks for a second factor, and the token's owner has none. It is set up in the browser, under Settings.")
	}
	return found, nil
}

// tokenPrincipal notes the use and says whom the token stands for.
func (s *Service) tokenPrincipal(ctx context.Context, t accessToken) (tenancy.Principal, error) {
	who := tenancy.Principal{
		Kind:      tenancy.Kind(t.kind),
		Workspace: t.workspace,
		Name:      t.name,
		Token:     t.id,
		Scope:     t.scope,
		MaySubmit: t.maySubmit,
		Roles:     t.roles,
	}
	if who.Kind == tenancy.KindPerson {
		who.Account, who.Role, who.Name = t.account, t.role, t.owner
	}
	if !t.oldUse {
		return who, nil
	}
	err := s.db.In(ctx, db.Workspace(t.workspace), func(tx db.Tx) error {
		return q.AccessTokenUsed(ctx, tx, t.workspace, t.id)
	})
	if err != nil {
		return tenancy.Principal{}, err
	}
	return who, nil
}

func invalidToken(cause error) error {
	return fault.Wrap(cause, fault.TokenInvalid, "The token is not one of this server's, or it was not copied completely.")
}
