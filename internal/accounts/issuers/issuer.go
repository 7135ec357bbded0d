package issuers

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Limits of a trusted issuer: texts in characters, lists in entries.
const (
	MaxName     = 64
	MaxIssuer   = 500
	MaxAudience = 255
	MaxClaims   = 20
	MaxClaim    = 200
	MaxValue    = 500
	// MaxIssuers bounds those of a workspace.
	MaxIssuers = 100
)

// Claim is what a token has to say, exactly: no part of a value, no pattern.
type Claim struct {
	// Name is that of a claim, or the way to one inside others: /kubernetes.io/serviceaccount/uid.
	Name  string `json:"claim"`
	Value string `json:"value"`
}

// Rule says which tokens are accepted, and what the agents may do that register by them.
type Rule struct {
	Issuer, Audience string
	Claims           []Claim
	Scope            tenancy.Scope
	Roles            []string
	MaySubmit        bool
}

// Issuer is one that a workspace trusts.
type Issuer struct {
	ID   ids.ID
	Name string
	Rule
	CreatedBy  string
	CreatedAt  time.Time
	LastUsedAt *time.Time
	// Live is false where its enrolment token was revoked.
	Live bool
	Now  time.Time // of the database

	token ids.ID
}

// shared are issuers that sign for everybody, with the claims of which a rule needs one: names there
// can be given to somebody else, numbers cannot.
var shared = map[string][]string{
	"https://token.actions.githubusercontent.com": {"repository_id", "repository_owner_id"},
	"https://gitlab.com":                          {"project_id", "namespace_id"},
}

var named = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// check refuses a rule that cannot be kept, or would let in whom nobody means.
func (r Rule) check(name string) error {
	p := fault.Problems{}
	if !named.MatchString(name) || len(name) > MaxName {
		p.Add("issuer", "The name must have 1 to %d letters, digits and . _ -, and begin with a letter or digit.", MaxName)
	}
	if err := oidc.CheckIssuer(r.Issuer); err != nil || utf8.RuneCountInString(r.Issuer) > MaxIssuer {
		p.Add("url", "It must be the address of the issuer, as its tokens name it, like https://id.example.com.")
	}
	if n := utf8.RuneCountInString(r.Audience); n < 1 || n > MaxAudience || strings.TrimSpace(r.Audience) != r.Audience {
		p.Add("audience", "It must have 1 to %d characters, without spaces around them.", MaxAudience)
	}
	r.checkClaims(p)
	return p.Err()
}

// checkClaims refuses claims that are none, or too few to mean one workload.
func (r Rule) checkClaims(p fault.Problems) {
	if len(r.Claims) < 1 || len(r.Claims) > MaxClaims {
		p.Add("claims", "It must have 1 to %d entries.", MaxClaims)
	}
	seen := map[string]bool{}
	for _, c := range r.Claims {
		switch {
		case c.Name == "" || c.Value == "" || utf8.RuneCountInString(c.Name) > MaxClaim || utf8.RuneCountInString(c.Value) > MaxValue:
			p.Add("claims", "Each entry must have a claim and its value.")
		case strings.Contains(c.Value, "*"):
			p.Add("claims", "A value is compared exactly; * is no wildcard.")
		case seen[c.Name]:
			p.Add("claims", "%s must be named once.", c.Name)
		case c.Name == "iss" || c.Name == "aud":
			p.Add("claims", "%s has a field of its own.", c.Name)
		}
		seen[c.Name] = true
	}
	if needs := shared[strings.TrimSuffix(r.Issuer, "/")]; needs != nil &&
		!slices.ContainsFunc(needs, func(n string) bool { return seen[n] }) {
		p.Add("claims", "This issuer signs for everybody, and names there can be taken by others: add %s.", strings.Join(needs, " or "))
	}
}

// accepts reports whether a token says all that it has to; else it names the claim.
func (r Rule) accepts(id oidc.Identity) error {
	for _, c := range r.Claims {
		if said, ok := id.Claim(c.Name); !ok || said != c.Value {
			return fault.New(fault.TokenInvalid, "The token of the workload is not accepted: its claim %s is another one.", c.Name)
		}
	}
	return nil
}

// newToken returns the enrolment token of its agents.
func (r Rule) newToken(name string) tokens.NewToken {
	return tokens.NewToken{Kind: tenancy.KindEnrolment, Name: name, Products: r.Scope.Products, Capabilities: r.Scope.Capabilities,
		Factory: r.Scope.Factory, MaySubmit: r.MaySubmit, Roles: r.Roles}
}
