package tokens

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Issue makes a token in the caller's workspace and returns it; it is not
// kept and cannot be shown again. A person may make tokens of its own; an
// enrolment token needs RunFleet. Faults: Forbidden, Validation, AlreadyExists
// where the same form has made one before.
func (s *Service) Issue(ctx context.Context, who tenancy.Principal, in NewToken) (string, error) {
	if err := mayIssue(who, in.Kind); err != nil {
		return "", err
	}
	in.Name = strings.TrimSpace(in.Name)
	if err := s.validateToken(in); err != nil {
		return "", err
	}
	var plain string
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := roomTx(ctx, tx, who, in); err != nil {
			return err
		}
		var err error
		plain, err = IssueTx(ctx, tx, who, who, in)
		return err
	})
	if err != nil {
		return "", err
	}
	s.wake.Publish(eventlog.Topic(who.Workspace))
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
	p := fault.Problems{}
	if n := utf8.RuneCountInString(in.Name); n < 1 || n > MaxName {
		p.Add("name", "Use 1 to %d characters.", MaxName)
	}
	p.Line("name", in.Name, MaxName)
	if in.ExpiresAt != nil && !in.ExpiresAt.After(s.now()) {
		p.Add("expires_at", "Choose a time in the future.")
	}
	scoped := len(in.Products) > 0 || len(in.Capabilities) > 0 || in.Factory != ""
	if in.Kind == tenancy.KindPerson && scoped {
		p.Add("kind", "A person's token has all the person's rights; only enrolment tokens can be limited.")
	}
	if in.Kind == tenancy.KindPerson && in.MaySubmit {
		p.Add("may_submit", "Only agents of enrolment tokens are given it.")
	}
	if len(in.Roles) > tenancy.MaxAgentRoles {
		p.Add("roles", "It must have at most %d entries.", tenancy.MaxAgentRoles)
	}
	for i, name := range in.Roles {
		if !tenancy.IsAgentRole(name) {
			p.Add("roles", "Entry %d must be worker, orchestrator, reviewer or custom:<name>.", i+1)
		}
	}
	if len(in.Products) > MaxScope {
		p.Add("products", "It must have at most %d entries.", MaxScope)
	}
	p.Capabilities("capabilities", in.Capabilities, MaxScope)
	if slices.ContainsFunc(in.Capabilities, func(c string) bool { return strings.HasPrefix(c, "repo:") }) {
		p.Add("capabilities", "Repos are not limited by a token; name the products that own them.")
	}
	p.Name("factory", in.Factory, MaxFactory)
	if strings.Contains(in.Factory, "/") {
		p.Add("factory", "It must not contain a slash.")
	}
	p.Line("form_key", in.FormKey, MaxFormKey)
	return p.Err()
}

// roomTx refuses a token that is one too many, or that names a product which is
// not there: a name that is mistyped would limit the token to nothing.
func roomTx(ctx context.Context, tx db.Tx, who tenancy.Principal, in NewToken) error {
	most := MaxEnrolment
	if in.Kind == tenancy.KindPerson {
		most = MaxPersonal
	}
	n, err := liveTokensTx(ctx, tx, who, in.Kind)
	if err != nil {
		return fmt.Errorf("count tokens: %w", err)
	}
	if n >= most {
		return fault.Invalid("kind", "There are %d live tokens of this kind, the most there may be. Revoke one first.", n)
	}
	unknown, err := unknownProductsTx(ctx, tx, who.Workspace, in.Products)
	if err != nil {
		return fmt.Errorf("products of a token: %w", err)
	}
	if len(unknown) > 0 {
		return fault.Invalid("products", "There is no product %.64s.", unknown[0])
	}
	return nil
}

// IssueTx makes a token of who in the caller's transaction; by is whom the log
// names.
func IssueTx(ctx context.Context, tx db.Tx, who, by tenancy.Principal, in NewToken) (string, error) {
	plain := secrets.New(string(in.Kind))
	made, err := insertTokenTx(ctx, tx, who, ids.New(), in, secrets.Hash(plain), secrets.Hint(plain))
	if err != nil {
		return "", err
	}
	if !made {
		return "", fault.New(fault.AlreadyExists, "This form has made its token already. It was shown then and cannot be shown again.")
	}
	return plain, appendTx(ctx, tx, by, eventlog.TokenIssued, in.token(secrets.Hint(plain)))
}

// token returns the token that is made.
func (in NewToken) token(hint string) Token {
	return Token{Kind: in.Kind, Name: in.Name, Hint: hint,
		Scope: tenancy.Scope{Products: in.Products, Capabilities: in.Capabilities, Factory: in.Factory}, MaySubmit: in.MaySubmit,
		Roles: in.Roles}
}
