package accounts

import (
	"context"
	"errors"
	"strings"
	"time"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

const (
	maxTokenName    = 100
	maxTokenFactory = 64
	maxFormKey      = 64
	// maxScope bounds the products, and the capabilities, that a token names.
	maxScope = 64
	// Live tokens: enrolment tokens of a workspace, a person's own in a workspace.
	maxEnrolmentTokens = 200
	maxPersonTokens    = 50
	// maxListed is more than can be live for one who asks.
	maxListed = 500
	// maxBearer is longer than any token with the most capabilities an agent may have.
	maxBearer = 16 << 10
)

// NewToken is an access token to be made.
type NewToken struct {
	// Kind is KindPerson, for the rights of the person who asks, or
	// KindEnrolment, which may only register agents.
	Kind tenancy.Kind
	// Name is shown in lists, 1..100 characters.
	Name string
	// Products, Capabilities and Factory limit an enrolment token, and the
	// agents that register with it. Empty limits nothing.
	Products     []string
	Capabilities []string
	Factory      string
	// MaySubmit lets the agents of an enrolment token create jobs.
	MaySubmit bool
	// ExpiresAt is in the future, or nil for a token without an end.
	ExpiresAt *time.Time
	// FormKey is random and the same where the same form is sent again: it makes
	// one token. Empty makes one each time.
	FormKey string
}

// TokenState says whether a token opens anything.
type TokenState string

// The states of a token.
const (
	TokenLive    TokenState = "live"
	TokenExpired TokenState = "expired"
	TokenRevoked TokenState = "revoked"
)

// Token is an access token as lists show it: never the token itself.
type Token struct {
	ID         ids.ID
	Kind       tenancy.Kind
	Name       string
	Hint       string // its first characters
	Scope      tenancy.Scope
	MaySubmit  bool
	CreatedBy  string
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
	State      TokenState
	EndedAt    time.Time // where it is not live
	Agents     int       // that registered with it last and are alive
	Now        time.Time // of the database
}

// Tokens lists who asks its own tokens and, with RunFleet, the workspace's
// enrolment tokens: live ones first, then by age, those that ended over a month
// ago left out. Fault: Forbidden for whoever is no person.
func (s *tokenService) Tokens(ctx context.Context, who tenancy.Principal) ([]Token, error) {
	if !who.Can(tenancy.SignedIn) {
		return nil, fault.New(fault.Forbidden, "Only a person may see tokens.")
	}
	var list []Token
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) (err error) {
		list, err = listTokensTx(ctx, tx, who, who.Can(tenancy.RunFleet))
		return err
	})
	return list, err
}

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
}

// Bearer says who holds a token: a person's, an enrolment token or an agent's
// (which costs no SQL where Watch runs). Faults: Unauthenticated without a token,
// TokenInvalid, TokenExpired, TokenRevoked; Superseded, with the principal beside
// it, for an agent that was started again since.
func (s *tokenService) Bearer(ctx context.Context, token string) (tenancy.Principal, error) {
	switch {
	case token == "":
		return tenancy.Principal{}, fault.New(fault.Unauthenticated, "Send a token as 'Authorization: Bearer <token>'.")
	case len(token) > maxBearer:
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
func (s *tokenService) storedBearer(ctx context.Context, token string) (tenancy.Principal, error) {
	kind, ok := secretKind(token)
	if !ok || (kind != secretPerson && kind != secretEnrolment) {
		return tenancy.Principal{}, invalidToken(errors.New("wrong form, kind or checksum"))
	}
	found, err := s.findToken(ctx, token, kind)
	if err != nil {
		return tenancy.Principal{}, err
	}
	return s.tokenPrincipal(ctx, found)
}

func (s *tokenService) findToken(ctx context.Context, token, kind string) (accessToken, error) {
	var found accessToken
	hash := secretHash(token)
	err := s.db.OnceInToken(ctx, hash, func(tx db.Tx) error {
		var ok bool
		var err error
		found, ok, err = tokenByHashTx(ctx, tx, hash)
		if err == nil && (!ok || found.kind != kind) {
			return invalidToken(errors.New("unknown"))
		}
		return err
	})
	switch {
	case err != nil:
		return accessToken{}, err
	case found.revoked:
		return accessToken{}, fault.New(fault.TokenRevoked, "The token was revoked.")
	case found.expired:
		return accessToken{}, fault.New(fault.TokenExpired, "The token has expired.")
	case kind == secretPerson && found.role == "":
		return accessToken{}, fault.New(fault.TokenRevoked, "The token's owner is no longer in the workspace, or is disabled there.")
	case found.needsFactor:
		return accessToken{}, fault.New(fault.Forbidden,
			"The workspace asks for a second factor, and the token's owner has none. It is set up in the browser, under Settings.")
	}
	return found, nil
}

// tokenLiveTx reports whether a token is one of the transaction's workspace and of
// the kind, and has not ended.
func tokenLiveTx(ctx context.Context, tx db.Tx, token string, kind tenancy.Kind) (bool, error) {
	found, ok, err := tokenByHashTx(ctx, tx, secretHash(token))
	return ok && found.kind == string(kind) && !found.revoked && !found.expired, err
}

// tokenPrincipal notes the use and says whom the token stands for.
func (s *tokenService) tokenPrincipal(ctx context.Context, t accessToken) (tenancy.Principal, error) {
	who := tenancy.Principal{
		Kind:      tenancy.Kind(t.kind),
		Workspace: t.workspace,
		Name:      t.name,
		Token:     t.id,
		Scope:     t.scope,
		MaySubmit: t.maySubmit,
	}
	if who.Kind == tenancy.KindPerson {
		who.Account, who.Role, who.Name = t.account, t.role, t.owner
	}
	if !t.oldUse {
		return who, nil
	}
	err := s.db.InWorkspace(ctx, t.workspace, func(tx db.Tx) error {
		return tokenUsedTx(ctx, tx, t.workspace, t.id)
	})
	if err != nil {
		return tenancy.Principal{}, err
	}
	return who, nil
}
