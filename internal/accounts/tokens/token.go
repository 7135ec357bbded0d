package tokens

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Limits of tokens: texts in characters, lists in entries.
const (
	MaxName    = 100
	MaxFactory = 64
	MaxFormKey = 64
	// MaxScope bounds the products, and the capabilities, that a token names.
	MaxScope = 64
	// MaxEnrolment bounds the live enrolment tokens of a workspace.
	MaxEnrolment = 200
	// MaxPersonal bounds the live tokens of a person in a workspace.
	MaxPersonal = 50
	// maxListed is more than can be live for one caller.
	maxListed = 500
	// MaxBearer is longer than any token with the most capabilities an agent may have.
	MaxBearer = 16 << 10
)

// NewToken is an access token to be made.
type NewToken struct {
	// Kind is KindPerson, for the rights of the person who calls, or
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
	// Roles are those that the agents of an enrolment token may have; none is worker.
	Roles []string
	// ExpiresAt is in the future, or nil for a token without an end.
	ExpiresAt *time.Time
	// FormKey is random and the same where the same form is sent again: it makes
	// one token. Empty makes one each time.
	FormKey string
}

// State says whether a token opens anything.
type State string

// The states of a token.
const (
	Live    State = "live"
	Expired State = "expired"
	Revoked State = "revoked"
)

// Token is an access token as lists show it: never the token itself.
type Token struct {
	ID         ids.ID
	Kind       tenancy.Kind
	Name       string
	Hint       string // its first characters
	Scope      tenancy.Scope
	MaySubmit  bool
	Roles      []string
	CreatedBy  string
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
	State      State
	EndedAt    time.Time // where it is not live
	Agents     int       // that registered with it last and are alive
	Now        time.Time // of the database
}

// List lists the caller's own tokens and, with RunFleet, the workspace's
// enrolment tokens: live ones first, then by age, those that ended over a month
// ago left out. Fault: Forbidden for whoever is no person.
func (s *Service) List(ctx context.Context, who tenancy.Principal) ([]Token, error) {
	if !who.Can(tenancy.SignedIn) {
		return nil, fault.New(fault.Forbidden, "Only a person may see tokens.")
	}
	var list []Token
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = listTokensTx(ctx, tx, who, who.Can(tenancy.RunFleet))
		return err
	})
	return list, err
}

// LiveTx reports whether a token is one of the transaction's workspace and of
// the kind, and has not ended.
func LiveTx(ctx context.Context, tx db.Tx, token string, kind tenancy.Kind) (bool, error) {
	found, ok, err := tokenByHashTx(ctx, tx, secrets.Hash(token))
	return ok && found.kind == string(kind) && !found.revoked && !found.expired, err
}
