package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// maxSubject is the length of a subject in bytes (OpenID Connect Core, section 2).
const maxSubject = 255

// clockSkew is how far the provider's clock may be behind.
const clockSkew = time.Minute

// Flow is what one log in keeps in the browser's session until the provider sends
// the browser back. It is secret and used once.
type Flow struct {
	State, Nonce, Verifier string
	// Anew is set where the person has to log in at the provider for this.
	Anew bool
}

// Claims is who somebody is at a provider. Issuer and Subject name the person;
// the rest is what the provider knows and may be empty or change.
type Claims struct {
	Issuer, Subject string
	// Email is in lower case, and one that the provider does not call unverified.
	Email string
	Name  string
}

// Begin returns the page of the provider that a browser goes to, and what to keep
// until it comes back. Faults: Unavailable.
func (p *Provider) Begin(ctx context.Context) (string, Flow, error) {
	return p.begin(ctx, Flow{})
}

// BeginAnew is Begin for somebody who has to log in there again, although the
// provider knows the browser.
func (p *Provider) BeginAnew(ctx context.Context) (string, Flow, error) {
	return p.begin(ctx, Flow{Anew: true})
}

func (p *Provider) begin(ctx context.Context, f Flow) (string, Flow, error) {
	at, err := p.ask(ctx)
	if err != nil {
		return "", Flow{}, err
	}
	f.State, f.Nonce, f.Verifier = rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if f.Anew {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"),
			oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(sessions.ProofLife.Seconds()))))
	}
	return at.oauth.AuthCodeURL(f.State, options...), f, nil
}

// Finish takes what the browser brings back from the provider and returns who it
// is. Faults: Malformed for an answer to another log in, Forbidden where the
// provider says no or what it says cannot be trusted, Unavailable.
func (p *Provider) Finish(ctx context.Context, f Flow, answer url.Values) (Claims, error) {
	at, err := p.ask(ctx)
	if err != nil {
		return Claims{}, err
	}
	if err := p.checkAnswer(at, f, answer); err != nil {
		return Claims{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := at.oauth.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return Claims{}, p.exchangeRefused(err)
	}
	id, err := p.verify(ctx, at, f, token)
	if err != nil {
		return Claims{}, p.distrusted(err)
	}
	return p.claims(ctx, at, id, token)
}

// checkAnswer looks at the query that the provider sent the browser back with.
func (p *Provider) checkAnswer(at *endpoints, f Flow, answer url.Values) error {
	if f.State == "" || subtle.ConstantTimeCompare([]byte(f.State), []byte(answer.Get("state"))) != 1 {
		return startAgain(errors.New("the state is another one"))
	}
	if answer.Has("iss") || at.namesItself {
		if answer.Get("iss") != p.cfg.Issuer {
			return p.distrusted(fmt.Errorf("the answer names the issuer %q", brief(answer.Get("iss"))))
		}
	}
	if refused := answer.Get("error"); refused != "" {
		cause := fmt.Errorf("the provider says %q", brief(refused))
		if refused == "access_denied" {
			return fault.Wrap(cause, fault.Forbidden, "%s did not let you in, or you turned back there.", p.cfg.Name)
		}
		return fault.Wrap(cause, fault.Forbidden, "%s refused the log in. The server's log says why.", p.cfg.Name)
	}
	if answer.Get("code") == "" {
		return startAgain(errors.New("no code"))
	}
	return nil
}

// startAgain returns the refusal of an answer that belongs to no log in under way.
func startAgain(cause error) error {
	return fault.Wrap(cause, fault.Malformed,
		"It was used already, took longer than ten minutes or was begun in another browser. Begin again.")
}

// distrusted returns the refusal of an answer that is not what the provider promises.
func (p *Provider) distrusted(cause error) error {
	return fault.Wrap(cause, fault.Forbidden,
		"What %s answered could not be verified, so nobody was logged in. Begin again; if it stays so, tell whoever runs this server.",
		p.cfg.Name)
}

// exchangeRefused says why there is no token. The provider's own text is not
// repeated: it may hold the code.
func (p *Provider) exchangeRefused(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) {
		return p.silent(err)
	}
	status := 0
	if refused.Response != nil {
		status = refused.Response.StatusCode
	}
	cause := fmt.Errorf("token endpoint: status %d, %q", status, brief(refused.ErrorCode))
	switch {
	case refused.ErrorCode == "invalid_grant":
		return startAgain(cause)
	case status >= 500:
		return p.silent(cause)
	default:
		return fault.Wrap(cause, fault.Forbidden,
			"%s does not accept this server. Tell whoever runs it: its log says why.", p.cfg.Name)
	}
}

// verify checks the ID token: signature, issuer, audience, expiry, nonce.
func (p *Provider) verify(ctx context.Context, at *endpoints, f Flow, token *oauth2.Token) (*oidc.IDToken, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, errors.New("no ID token")
	}
	id, err := at.provider.Verifier(&oidc.Config{ClientID: p.cfg.ClientID, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	var said struct {
		Party string `json:"azp"`
		// LoggedIn is when the person logged in there; some providers do not say it.
		LoggedIn int64 `json:"auth_time"`
	}
	if err := id.Claims(&said); err != nil {
		return nil, err
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.Nonce)) != 1:
		return nil, errors.New("the ID token has the nonce of another log in")
	case said.Party != "" && said.Party != p.cfg.ClientID, said.Party == "" && len(id.Audience) > 1:
		return nil, errors.New("the ID token was made for another party")
	case f.Anew && said.LoggedIn != 0 && p.now().Sub(time.Unix(said.LoggedIn, 0)) > sessions.ProofLife+clockSkew:
		return nil, errors.New("the person logged in at the provider long ago, though a new log in was asked for")
	case id.Subject == "" || len(id.Subject) > maxSubject || !people.Storable(id.Subject):
		return nil, errors.New("the ID token names nobody")
	case id.AccessTokenHash != "":
		return id, id.VerifyAccessToken(token.AccessToken)
	}
	return id, nil
}

// profile is what a provider reports about a person, in an ID token or beside it.
type profile struct {
	Email string `json:"email"`
	// Verified is a boolean; some providers send it as text.
	Verified  any    `json:"email_verified"`
	Name      string `json:"name"`
	Preferred string `json:"preferred_username"`
}

// claims reads who an ID token is about. Where it does not say the e-mail, the
// provider is queried for it.
func (p *Provider) claims(ctx context.Context, at *endpoints, id *oidc.IDToken, token *oauth2.Token) (Claims, error) {
	var said profile
	if err := id.Claims(&said); err != nil {
		return Claims{}, p.distrusted(err)
	}
	if said.Email == "" && at.provider.UserInfoEndpoint() != "" {
		info, err := at.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return Claims{}, p.silent(errors.New(brief(err.Error())))
		}
		if info.Subject != id.Subject {
			return Claims{}, p.distrusted(errors.New("the profile is somebody else's"))
		}
		if err := info.Claims(&said); err != nil {
			return Claims{}, p.distrusted(err)
		}
	}
	out := Claims{Issuer: p.cfg.Issuer, Subject: id.Subject, Email: people.NormalEmail(said.Email)}
	if said.Verified == false || said.Verified == "false" || people.EmailProblem(out.Email) != "" {
		out.Email = ""
	}
	for _, name := range []string{said.Name, said.Preferred, out.Email} {
		if name = strings.TrimSpace(people.Cut(strings.ToValidUTF8(name, ""), people.MaxName)); name != "" && out.Name == "" {
			out.Name = name
		}
	}
	return out, nil
}

// brief cuts what somebody else wrote for the log.
func brief(text string) string { return people.Cut(strings.ToValidUTF8(text, ""), 200) }
