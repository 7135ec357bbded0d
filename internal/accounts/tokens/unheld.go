package tokens

import (
	"context"
	"maps"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// IssueUnheldTx makes an enrolment token that nobody holds, in the caller's transaction: it stands
// for an issuer that the workspace trusts. Its limits, agents and end are those of any other, but no
// text opens it: hash is that of no token of this server. hint is shown where others show how they
// begin, and more goes into the log. Faults: Forbidden, Validation.
func (s *Service) IssueUnheldTx(
	ctx context.Context, tx db.Tx, who tenancy.Principal, in NewToken, hash []byte, hint string, more map[string]any,
) (ids.ID, error) {
	in.Kind = tenancy.KindEnrolment
	if err := mayIssue(who, in.Kind); err != nil {
		return ids.Nil, err
	}
	if err := s.validateToken(in); err != nil {
		return ids.Nil, err
	}
	if err := roomTx(ctx, tx, who, in); err != nil {
		return ids.Nil, err
	}
	id := ids.New()
	if _, err := insertTokenTx(ctx, tx, who, id, in, hash, hint); err != nil {
		return ids.Nil, err
	}
	said := in.token(hint).said()
	maps.Copy(said, more)
	return id, eventlog.RecordTx(ctx, tx, who, eventlog.TokenIssued, said)
}

// RevokeTx ends a token of the workspace in the caller's transaction, as Revoke does; ending an ended
// one is no error. After the commit RevokedTopic is to be published.
func (s *Service) RevokeTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) error {
	t, before, found, err := revokeTokenTx(ctx, tx, who, id, true)
	if err != nil || !found || before {
		return err
	}
	return appendTx(ctx, tx, who, eventlog.TokenRevoked, t)
}

// Unheld says what agents may that register by a token that nobody holds, and notes its use. Faults:
// TokenInvalid, TokenRevoked.
func (s *Service) Unheld(ctx context.Context, hash []byte) (tenancy.Principal, error) {
	found, err := s.findToken(ctx, hash, secrets.Enrolment)
	if fault.Is(err, fault.TokenInvalid) {
		return tenancy.Principal{}, fault.New(fault.TokenInvalid, "There is no such trusted issuer.")
	}
	if err != nil {
		return tenancy.Principal{}, err
	}
	return s.tokenPrincipal(ctx, found)
}
