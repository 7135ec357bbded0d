package tokens

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	agentTokenLife = time.Hour
	// agentTokenSkew is how far the clocks of two web processes may be apart.
	agentTokenSkew     = 30 * time.Second
	agentTokenIssuer   = "fleetboard"
	agentTokenAudience = "fleetboard-agent"
	// signedKept is how many tokens are known to be signed: those of as many agents
	// as a process serves, half a kilobyte each.
	signedKept = 20_000
)

// agentClaims is what an agent's token carries, so that its calls need no look
// at the database to know who calls.
type agentClaims struct {
	jwt.RegisteredClaims
	Workspace    string   `json:"workspace"`
	Name         string   `json:"name"`
	Factory      string   `json:"factory"`
	Boot         string   `json:"boot"`
	Enrolment    string   `json:"enrolment,omitempty"`
	Generation   int64    `json:"generation,omitempty"`
	Products     []string `json:"products,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	MaySubmit    bool     `json:"may_submit,omitempty"`
}

// IssueAgentToken returns a token that speaks for the agent p for an hour. The
// principal must be an agent with workspace, id and name.
func (s *Service) IssueAgentToken(p tenancy.Principal) (token string, expires time.Time, err error) {
	if p.Kind != tenancy.KindAgent || p.Workspace == ids.Nil || p.Agent == ids.Nil || p.Name == "" {
		return "", time.Time{}, fmt.Errorf("an agent token for a principal that is no agent (%s)", p.Kind)
	}
	now := s.now()
	expires = now.Add(agentTokenLife).Truncate(time.Second)
	claims := agentClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    agentTokenIssuer,
			Audience:  jwt.ClaimStrings{agentTokenAudience},
			Subject:   p.Agent.String(),
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(expires),
		},
		Workspace:    p.Workspace.String(),
		Name:         p.Name,
		Factory:      p.Factory,
		Boot:         p.Boot,
		Generation:   p.Generation,
		Products:     p.Scope.Products,
		Capabilities: p.Scope.Capabilities,
		MaySubmit:    p.MaySubmit,
	}
	if p.Token != ids.Nil {
		claims.Enrolment = p.Token.String()
	}
	token, err = jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims).SignedString(s.signing)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign agent token: %w", err)
	}
	return token, expires, nil
}

// agentBearer reads an agent's token and checks whether it has ended before its
// time. The principal is not to be changed: it is remembered.
func (s *Service) agentBearer(ctx context.Context, token string) (*tenancy.Principal, error) {
	who, err := s.signedBearer(token)
	if err != nil {
		return nil, err
	}
	if err = s.checkRevoked(ctx, who); err != nil && !fault.Is(err, fault.Superseded) {
		return nil, err
	}
	return who, err
}

// signedBearer says for whom a token was signed. A signature that was found good
// once is not looked at again: it costs as much as all else that the edge does for
// a call.
func (s *Service) signedBearer(token string) (*tenancy.Principal, error) {
	key := sha256.Sum256([]byte(token))
	who, known := s.signed.Get(key)
	if known && !s.now().Before(who.Expires.Add(agentTokenSkew)) {
		return nil, expiredToken()
	}
	if known {
		return who, nil
	}
	who, err := s.verify(token)
	if err == nil {
		s.signed.Add(key, who)
	}
	return who, err
}

// verify believes only what this server signed with this one algorithm; what the
// token says about its own algorithm or keys is not looked at.
func (s *Service) verify(token string) (*tenancy.Principal, error) {
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithIssuer(agentTokenIssuer),
		jwt.WithAudience(agentTokenAudience),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(),
		jwt.WithLeeway(agentTokenSkew),
		jwt.WithTimeFunc(s.now),
		jwt.WithStrictDecoding(),
	)
	var claims agentClaims
	_, err := parser.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) {
		return s.signing.Public().(ed25519.PublicKey), nil
	})
	if errors.Is(err, jwt.ErrTokenExpired) {
		return nil, expiredToken()
	}
	if err != nil {
		return nil, invalidToken(err)
	}
	return claims.principal()
}

func expiredToken() error {
	return fault.New(fault.TokenExpired, "The agent's token has expired. Register the agent again.")
}

func (c agentClaims) principal() (*tenancy.Principal, error) {
	workspace, okWorkspace := ids.Parse(c.Workspace)
	agent, okAgent := ids.Parse(c.Subject)
	enrolment, okEnrolment := ids.Parse(c.Enrolment)
	if !okWorkspace || !okAgent || c.Name == "" || c.Enrolment != "" && !okEnrolment {
		return nil, invalidToken(errors.New("a signed token without workspace, agent or name"))
	}
	return &tenancy.Principal{
		Kind:       tenancy.KindAgent,
		Workspace:  workspace,
		Agent:      agent,
		Name:       c.Name,
		Token:      enrolment,
		Factory:    c.Factory,
		Boot:       c.Boot,
		Generation: c.Generation,
		Expires:    c.ExpiresAt.Time,
		Scope:      tenancy.Scope{Products: c.Products, Capabilities: c.Capabilities, Factory: c.Factory},
		MaySubmit:  c.MaySubmit,
	}, nil
}
