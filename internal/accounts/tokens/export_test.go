package tokens

import (
	"context"
	"crypto/ed25519"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// What an agent's token says, for forgeries.
const (
	AgentTokenIssuer   = agentTokenIssuer
	AgentTokenAudience = agentTokenAudience
	AgentTokenSkew     = agentTokenSkew
	RevocationsLive    = revocationsLive
)

// AgentClaims are the claims of an agent's token.
type AgentClaims = agentClaims

// Signing returns the key of agents' tokens.
func (s *Service) Signing() ed25519.PrivateKey { return s.signing }

// ReadRevocationsAt says when revocations were last read.
func (s *Service) ReadRevocationsAt(at time.Time) { s.revoked.asked = at }

// ReadAgain reads revocations.
func (s *Service) ReadAgain(ctx context.Context) error {
	s.revoked.turn <- struct{}{}
	defer func() { <-s.revoked.turn }()
	return s.readAgain(ctx)
}

// KnownRevocations returns the subjects of a workspace whose revocation is known.
func (s *Service) KnownRevocations() map[[2]ids.ID]bool {
	out := map[[2]ids.ID]bool{}
	for at := range s.revoked.known {
		out[at] = true
	}
	return out
}

// ForgetRevocations drops those that are old at a time of the database.
func (s *Service) ForgetRevocations(through time.Time) { s.revoked.learn(nil, time.Now(), 0, through) }

// CountRevocationsTx counts those that a transaction sees.
func CountRevocationsTx(ctx context.Context, tx db.Tx) (int, error) {
	found, _, err := revocationsSinceTx(ctx, tx, time.Time{})
	return len(found), err
}

// FoundTx reports whether a transaction sees the token of a hash.
func FoundTx(ctx context.Context, tx db.Tx, hash []byte) (bool, error) {
	_, ok, err := tokenByHashTx(ctx, tx, hash)
	return ok, err
}
