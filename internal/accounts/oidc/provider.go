package oidc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/fleetboard/fleetboard/internal/fault"
)

const (
	// providerTimeout bounds each request to the provider.
	providerTimeout = 10 * time.Second
	// providerPause is how long a provider that did not answer is left alone.
	providerPause = 5 * time.Second
)

// Config is what the operator knows about an OpenID Connect provider.
type Config struct {
	// Issuer is the provider's address, exactly as its tokens name it; CheckIssuer
	// accepts it.
	Issuer string
	// ClientID and ClientSecret are what the provider gave this server.
	ClientID, ClientSecret string
	// RedirectURL is where the provider sends browsers back to, exactly as it was
	// registered there.
	RedirectURL string
	// Name is what people call the provider.
	Name string
}

// Provider is an OpenID Connect provider that people log in with. It is safe for
// concurrent use. The first request to it is sent when somebody logs in: one that
// is down keeps no server from starting.
type Provider struct {
	cfg    Config
	client *http.Client
	now    func() time.Time

	// turn lets one request at a time ask for what is not known yet.
	turn chan struct{}
	mu   sync.Mutex
	// found is nil until the provider has answered; failure and tryAgain are about
	// the last time it did not.
	found    *endpoints
	failure  error
	tryAgain time.Time
}

// endpoints is what the provider says about itself.
type endpoints struct {
	provider *oidc.Provider
	oauth    oauth2.Config
	// namesItself is whether each of its answers has to say who sends it (RFC 9207).
	namesItself bool
}

// NewProvider returns the provider of a configuration. It sends no request to it yet.
func NewProvider(cfg Config) *Provider {
	return &Provider{cfg: cfg, client: providerClient(), now: time.Now, turn: make(chan struct{}, 1)}
}

// Name returns what people call the provider.
func (p *Provider) Name() string { return p.cfg.Name }

// Issuer returns the provider's address, by which identities are known.
func (p *Provider) Issuer() string { return p.cfg.Issuer }

// CheckIssuer returns what is wrong with the address of a provider: it is https,
// or http on this machine, without a query.
func CheckIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("must be an address like https://id.example.com")
	case !trusted(u):
		return errors.New("must begin with https://; http is for a provider on this machine only")
	}
	return nil
}

// trusted reports whether what comes from an address comes from its owner.
func trusted(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// ask returns what the provider says about itself, out of memory when it has
// answered once. Faults: Unavailable with Details["retry_after"] in seconds.
func (p *Provider) ask(ctx context.Context) (*endpoints, error) {
	if found, err := p.known(); found != nil || err != nil {
		return found, err
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if found, err := p.known(); found != nil || err != nil {
		return found, err
	}
	// A reader who goes away does not end it for those who wait.
	found, err := p.discover(context.WithoutCancel(ctx))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failure, p.tryAgain = err, p.now().Add(providerPause)
		return nil, p.silent(err)
	}
	p.found, p.failure = found, nil
	return found, nil
}

// known returns what an earlier request learned: the endpoints, a failure that is
// still fresh, or nothing.
func (p *Provider) known() (*endpoints, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil && p.failure != nil && p.now().Before(p.tryAgain) {
		return nil, p.silent(p.failure)
	}
	return p.found, nil
}

// silent returns the refusal where the provider does not answer as it should.
func (p *Provider) silent(cause error) error {
	return fault.Wrap(cause, fault.Unavailable, "%s does not answer right now. Try again in a moment.", p.cfg.Name).
		With("retry_after", int(providerPause.Seconds()))
}

// discover reads the provider's description of itself.
func (p *Provider) discover(ctx context.Context) (*endpoints, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	var said struct {
		NamesItself bool     `json:"authorization_response_iss_parameter_supported"`
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&said); err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	endpoint := provider.Endpoint()
	page, err := url.Parse(endpoint.AuthURL)
	if err != nil || page.Host == "" || !trusted(page) {
		return nil, errors.New("discovery: the authorization endpoint is no https address")
	}
	// Trying both ways would spend the code on the first.
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if len(said.AuthMethods) > 0 && !slices.Contains(said.AuthMethods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &endpoints{provider: provider, namesItself: said.NamesItself, oauth: oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, RedirectURL: p.cfg.RedirectURL,
		Endpoint: endpoint, Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}}, nil
}
