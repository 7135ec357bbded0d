package oidc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/fleetboard/fleetboard/internal/fault"
)

const (
	// MaxWorkloadToken bounds a token, in bytes.
	MaxWorkloadToken = 16 << 10
	// workloadLife is how long a token may be good at most: what is good for longer is a
	// secret that lies about.
	workloadLife = 24 * time.Hour
	// issuersKept is how many issuers are known at once, issuerLife for how long what they said
	// of their keys is believed.
	issuersKept = 256
	issuerLife  = 15 * time.Minute
)

// workloadAlgorithms are the signatures that are believed: those with a key pair.
var workloadAlgorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384,
	oidc.PS512, oidc.EdDSA}

// Workloads verifies the tokens by which pods, runners and other programs say who they are. It is
// safe for concurrent use.
type Workloads struct {
	client *http.Client
	now    func() time.Time
	known  *lru.Cache[string, issuer]
	asking singleflight.Group
}

// issuer is what is known of one: its keys, or why it did not answer.
type issuer struct {
	provider *oidc.Provider
	failure  error
	until    time.Time
}

// Identity is who a token says that a workload is.
type Identity struct {
	Subject string
	// Token is the hash of the token, Expires when it ends.
	Token   [sha256.Size]byte
	Expires time.Time

	claims map[string]any
}

// NewWorkloads returns one that asks issuers at public addresses, and in the allowed networks.
func NewWorkloads(allowed []netip.Prefix, now func() time.Time) *Workloads {
	known, err := lru.New[string, issuer](issuersKept)
	if err != nil {
		panic(fmt.Sprintf("oidc: %v", err)) // only a size below one is refused
	}
	return &Workloads{client: issuerClient(allowed), now: now, known: known}
}

// Verify returns whom a token of an issuer, made for one audience, stands for. Faults: TokenInvalid,
// Unavailable where the issuer does not answer.
func (w *Workloads) Verify(ctx context.Context, address, audience, raw string) (Identity, error) {
	if len(raw) > MaxWorkloadToken || strings.Count(raw, ".") != 2 {
		return Identity{}, refused(errors.New("no signed token"), "it is no signed token")
	}
	provider, err := w.ask(ctx, address)
	if err != nil {
		return Identity{}, err
	}
	token, err := provider.VerifierContext(oidc.ClientContext(ctx, w.client), &oidc.Config{
		ClientID: audience, SupportedSigningAlgs: workloadAlgorithms, SkipExpiryCheck: true, Now: w.now}).Verify(ctx, raw)
	if err != nil {
		return Identity{}, refused(err, "its issuer, its audience or its signature is another one")
	}
	if !slices.Equal(token.Audience, []string{audience}) {
		return Identity{}, refused(errors.New("several audiences"), "it is made for others, too")
	}
	id := Identity{Subject: token.Subject, Token: sha256.Sum256([]byte(raw)), Expires: token.Expiry}
	var text json.RawMessage
	if err := token.Claims(&text); err != nil {
		return Identity{}, refused(err, "its claims cannot be read")
	}
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	if err := numbers.Decode(&id.claims); err != nil {
		return Identity{}, refused(err, "its claims cannot be read")
	}
	return id, w.checkTimes(id, token)
}

// checkTimes refuses a token that is not good now, or for longer than a day.
func (w *Workloads) checkTimes(id Identity, token *oidc.IDToken) error {
	now := w.now()
	begins, told := id.moment("nbf")
	_, ends := id.moment("exp")
	_, made := id.moment("iat")
	switch {
	case !ends || !made:
		return refused(errors.New("no iat or exp"), "it does not say when it was made and when it ends")
	case !token.Expiry.After(now.Add(-clockSkew)):
		return refused(errors.New("expired"), "it has ended")
	case token.IssuedAt.After(now.Add(clockSkew)) || told && begins.After(now.Add(clockSkew)):
		return refused(errors.New("from the future"), "it is not good yet")
	case token.Expiry.Sub(token.IssuedAt) > workloadLife:
		return refused(errors.New("too long"), "it is good for longer than a day")
	case id.Subject == "":
		return refused(errors.New("no subject"), "it names no subject")
	}
	return nil
}

// moment returns a claim that is a time.
func (id Identity) moment(name string) (time.Time, bool) {
	number, ok := id.claims[name].(json.Number)
	if !ok {
		return time.Time{}, false
	}
	seconds, err := number.Float64()
	return time.Unix(int64(seconds), 0), err == nil
}

// Claim returns a claim as text: a text, a number as it is written, true or false. A name that begins
// with "/" is the way to a claim inside others (RFC 6901), such as
// /kubernetes.io/serviceaccount/name.
func (id Identity) Claim(name string) (string, bool) {
	var value any = id.claims
	parts := []string{name}
	if rest, isWay := strings.CutPrefix(name, "/"); isWay {
		parts = strings.Split(rest, "/")
	}
	for _, part := range parts {
		if len(parts) > 1 {
			part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		}
		in, ok := value.(map[string]any)
		if !ok {
			return "", false
		}
		if value, ok = in[part]; !ok {
			return "", false
		}
	}
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

// ask returns what an issuer says of itself, out of memory when it has answered lately.
func (w *Workloads) ask(ctx context.Context, address string) (*oidc.Provider, error) {
	if known, ok := w.known.Get(address); ok && w.now().Before(known.until) {
		return known.provider, known.failure
	}
	found, err, _ := w.asking.Do(address, func() (any, error) {
		// A caller who goes away does not end it for those who wait.
		inTime, cancel := context.WithTimeout(context.WithoutCancel(ctx), providerTimeout)
		defer cancel()
		provider, err := oidc.NewProvider(oidc.ClientContext(inTime, w.client), address)
		if err != nil {
			err = fault.Wrap(err, fault.Unavailable, "The issuer of the token does not answer as it should. Try again in a moment.").
				With("retry_after", int(providerPause.Seconds()))
			w.known.Add(address, issuer{failure: err, until: w.now().Add(providerPause)})
			return nil, err
		}
		w.known.Add(address, issuer{provider: provider, until: w.now().Add(issuerLife)})
		return provider, nil
	})
	if err != nil {
		return nil, err
	}
	return found.(*oidc.Provider), nil
}

// refused returns the refusal of a token, with the reason for whoever set it up.
func refused(cause error, why string) error {
	return fault.Wrap(cause, fault.TokenInvalid, "The token of the workload is not accepted: %s.", why)
}
