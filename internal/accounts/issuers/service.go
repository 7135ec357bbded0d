package issuers

import (
	"context"
	"crypto/sha256"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// hint is what a list shows in place of the beginning of a token.
const hint = "by OpenID Connect"

// Verifier says who a workload is.
type Verifier interface {
	Verify(ctx context.Context, issuer, audience, token string) (oidc.Identity, error)
}

// Publisher wakes those who wait for topics.
type Publisher interface{ Publish(topics ...string) }

// Service keeps trusted issuers and lets workloads in.
type Service struct {
	db        *db.DB
	wake      Publisher
	tokens    *tokens.Service
	workloads Verifier
}

// New returns the service.
func New(d *db.DB, wake Publisher, t *tokens.Service, workloads Verifier) *Service {
	return &Service{db: d, wake: wake, tokens: t, workloads: workloads}
}

// List returns the issuers that the caller's workspace trusts, by name. Fault: Forbidden.
func (s *Service) List(ctx context.Context, who tenancy.Principal) ([]Issuer, error) {
	if err := may(who); err != nil {
		return nil, err
	}
	var list []Issuer
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = listTx(ctx, tx, who, "")
		return err
	})
	return list, err
}

// Get returns one by its name. Faults: Forbidden, NotFound.
func (s *Service) Get(ctx context.Context, who tenancy.Principal, name string) (found Issuer, err error) {
	if err := may(who); err != nil {
		return Issuer{}, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		found, err = findTx(ctx, tx, who, name)
		return err
	})
	return found, err
}

// Put trusts an issuer, or replaces its rule. Another rule is another issuer: it has a new id, and the
// agents of the old one are cut off. Faults: Forbidden, Validation.
func (s *Service) Put(ctx context.Context, who tenancy.Principal, name string, r Rule) (now Issuer, isNew bool, err error) {
	if err := may(who); err != nil {
		return Issuer{}, false, err
	}
	if err := r.check(name); err != nil {
		return Issuer{}, false, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := q.NamedLock(ctx, tx, "issuers:"+who.Workspace.String()); err != nil {
			return err
		}
		all, err := listTx(ctx, tx, who, "")
		if err != nil {
			return err
		}
		old, err := findTx(ctx, tx, who, name)
		switch isNew = fault.Is(err, fault.NotFound); {
		case err != nil && !isNew:
			return err
		case isNew && len(all) >= MaxIssuers:
			return fault.Invalid("issuer", "There are %d trusted issuers, the most there may be.", MaxIssuers)
		case !isNew:
			if err := s.removeTx(ctx, tx, who, old); err != nil {
				return err
			}
		}
		if err := s.addTx(ctx, tx, who, name, r); err != nil {
			return err
		}
		now, err = findTx(ctx, tx, who, name)
		return err
	})
	if err == nil {
		s.wake.Publish(tokens.RevokedTopic(who.Workspace), eventlog.Topic(who.Workspace))
	}
	return now, isNew, err
}

// addTx writes a rule and makes the enrolment token of its agents.
func (s *Service) addTx(ctx context.Context, tx db.Tx, who tenancy.Principal, name string, r Rule) error {
	id := ids.New()
	token, err := s.tokens.IssueUnheldTx(ctx, tx, who, r.newToken(name), key(id), hint,
		map[string]any{"issuer": r.Issuer, "audience": r.Audience, "claims": r.Claims})
	if err != nil {
		return err
	}
	return insertTx(ctx, tx, who, id, token, name, r)
}

// removeTx forgets an issuer and ends its agents' tokens.
func (s *Service) removeTx(ctx context.Context, tx db.Tx, who tenancy.Principal, old Issuer) error {
	if err := s.tokens.RevokeTx(ctx, tx, who, old.token); err != nil {
		return err
	}
	return q.TrustedIssuerDelete(ctx, tx, who.Workspace, old.ID)
}

// Delete trusts an issuer no longer; its agents are cut off within seconds. Faults: Forbidden,
// NotFound.
func (s *Service) Delete(ctx context.Context, who tenancy.Principal, name string) error {
	if err := may(who); err != nil {
		return err
	}
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		old, err := findTx(ctx, tx, who, name)
		if err != nil {
			return err
		}
		return s.removeTx(ctx, tx, who, old)
	})
	if err == nil {
		s.wake.Publish(tokens.RevokedTopic(who.Workspace), eventlog.Topic(who.Workspace))
	}
	return err
}

// Enter returns as whom a workload registers an agent by a token of an issuer. Faults: TokenInvalid for
// a token that says anything but what the rule demands, or that has registered another agent;
// TokenRevoked; Unavailable where the issuer does not answer.
func (s *Service) Enter(ctx context.Context, issuer ids.ID, token, agent string) (tenancy.Principal, error) {
	who, err := s.tokens.Unheld(ctx, key(issuer))
	if err != nil {
		return tenancy.Principal{}, err
	}
	var rule Rule
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		rule, err = ruleTx(ctx, tx, who, issuer)
		return err
	}, db.OneRead)
	if err != nil {
		return tenancy.Principal{}, err
	}
	id, err := s.workloads.Verify(ctx, rule.Issuer, rule.Audience, token)
	if err != nil {
		return tenancy.Principal{}, err
	}
	if err := rule.accepts(id); err != nil {
		return tenancy.Principal{}, err
	}
	return who, s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		return useTx(ctx, tx, who, issuer, id, agent)
	})
}

// key is what an issuer's enrolment token is found by. No token of this server has this hash, as all
// begin otherwise.
func key(id ids.ID) []byte {
	sum := sha256.Sum256([]byte("trusted issuer " + id.String()))
	return sum[:]
}

func may(who tenancy.Principal) error {
	if who.Can(tenancy.RunFleet) {
		return nil
	}
	return fault.New(fault.Forbidden, "Trusted issuers are for owners and admins.")
}
