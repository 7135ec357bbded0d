package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

const (
	maxTokenName = 100
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
	// ExpiresAt is in the future, or nil for a token without an end.
	ExpiresAt *time.Time
}

// accessToken is a stored token as its bearer sees it.
type accessToken struct {
	workspace, id, account   ids.ID
	kind, name               string
	scope                    tenancy.Scope
	revoked, expired, oldUse bool
}

// Bearer says who holds a token: a person's, an enrolment token or an agent's
// (which costs no SQL). Faults: Unauthenticated without a token, TokenInvalid,
// TokenExpired, TokenRevoked.
func (s *Service) Bearer(ctx context.Context, token string) (tenancy.Principal, error) {
	switch {
	case token == "":
		return tenancy.Principal{}, fault.New(fault.Unauthenticated, "Send a token as 'Authorization: Bearer <token>'.")
	case len(token) > maxBearer:
		return tenancy.Principal{}, invalidToken(errors.New("too long"))
	case !strings.HasPrefix(token, "fb_"):
		return s.agentBearer(token)
	}
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

func (s *Service) findToken(ctx context.Context, token, kind string) (accessToken, error) {
	var found accessToken
	hash := secretHash(token)
	err := s.db.InToken(ctx, hash, func(tx db.Tx) error {
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
	}
	return found, nil
}

// tokenPrincipal notes the use and, for a person, asks for the role of today.
func (s *Service) tokenPrincipal(ctx context.Context, t accessToken) (tenancy.Principal, error) {
	who := tenancy.Principal{
		Kind:      tenancy.Kind(t.kind),
		Workspace: t.workspace,
		Name:      t.name,
		Token:     t.id,
		Scope:     t.scope,
	}
	person := who.Kind == tenancy.KindPerson
	if !person && !t.oldUse {
		return who, nil
	}
	err := s.db.InWorkspace(ctx, t.workspace, func(tx db.Tx) error {
		if person {
			role, name, ok, err := memberTx(ctx, tx, t.workspace, t.account)
			if err != nil {
				return err
			}
			if !ok {
				return fault.New(fault.TokenRevoked, "The token's owner is no longer in the workspace.")
			}
			who.Account, who.Role, who.Name = t.account, role, name
		}
		if t.oldUse {
			return tokenUsedTx(ctx, tx, t.workspace, t.id)
		}
		return nil
	})
	if err != nil {
		return tenancy.Principal{}, err
	}
	return who, nil
}

// IssueToken makes a token in the asker's workspace and returns it; it is not
// kept and cannot be shown again. A person may make tokens of its own; an
// enrolment token needs RunFleet. Faults: Forbidden, Validation.
func (s *Service) IssueToken(ctx context.Context, who tenancy.Principal, in NewToken) (string, error) {
	if err := mayIssue(who, in.Kind); err != nil {
		return "", err
	}
	in.Name = strings.TrimSpace(in.Name)
	if err := s.validateToken(in); err != nil {
		return "", err
	}
	var plain string
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		var err error
		plain, err = issueTx(ctx, tx, who, in)
		return err
	})
	if err != nil {
		return "", err
	}
	return plain, nil
}

func mayIssue(who tenancy.Principal, kind tenancy.Kind) error {
	switch kind {
	case tenancy.KindPerson:
		if who.Kind == tenancy.KindPerson && who.Can(tenancy.SignedIn) {
			return nil
		}
		return fault.New(fault.Forbidden, "Only a person may make a token with a person's rights.")
	case tenancy.KindEnrolment:
		if who.Can(tenancy.RunFleet) {
			return nil
		}
		return fault.New(fault.Forbidden, "Enrolment tokens are made by owners and admins.")
	default:
		return fault.Invalid("kind", "Choose person or enrolment.")
	}
}

func (s *Service) validateToken(in NewToken) error {
	fields := map[string]string{}
	if n := utf8.RuneCountInString(in.Name); n < 1 || n > maxTokenName {
		fields["name"] = fmt.Sprintf("Use 1 to %d characters.", maxTokenName)
	}
	if in.ExpiresAt != nil && !in.ExpiresAt.After(s.now()) {
		fields["expires_at"] = "Choose a time in the future."
	}
	scoped := len(in.Products) > 0 || len(in.Capabilities) > 0 || in.Factory != ""
	if in.Kind == tenancy.KindPerson && scoped {
		fields["kind"] = "A person's token has all the person's rights; only enrolment tokens can be limited."
	}
	if len(fields) > 0 {
		return fault.InvalidFields(fields)
	}
	return nil
}

// issueTx makes a token in the caller's transaction.
func issueTx(ctx context.Context, tx db.Tx, who tenancy.Principal, in NewToken) (string, error) {
	plain := newSecret(string(in.Kind))
	if err := insertTokenTx(ctx, tx, who, in, plain); err != nil {
		return "", err
	}
	return plain, nil
}

// RevokeToken ends a token now. People end their own, owners and admins all of
// the workspace; ending an ended one is no error. Another's token, and one of
// another workspace, is NotFound.
func (s *Service) RevokeToken(ctx context.Context, who tenancy.Principal, id ids.ID) error {
	if !who.Can(tenancy.SignedIn) {
		return fault.New(fault.Forbidden, "Only a person may end a token.")
	}
	return s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		ok, err := revokeTokenTx(ctx, tx, who, id, who.Can(tenancy.RunFleet))
		if err == nil && !ok {
			return fault.New(fault.NotFound, "There is no such token.")
		}
		return err
	})
}
