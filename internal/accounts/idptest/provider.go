// Package idptest is an OpenID Connect provider for tests: that of
// github.com/zitadel/oidc with people and one client of our own. It talks the
// whole protocol over HTTP, with a log-in form for a browser. It must not be
// reached from anywhere but this machine.
package idptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

// Person can log in at the provider.
type Person struct {
	// Subject is the `sub` of the tokens.
	Subject            string
	Username, Password string
	// First and Last make the name.
	First, Last string
	Email       string
}

// Client is a server that may ask the provider.
type Client struct {
	ID, Secret, RedirectURI string
}

// Handler returns the provider at an address, issuer. The clients of all providers of
// a process are one list, so each test has a client id of its own.
func Handler(issuer string, client Client, people ...Person) http.Handler {
	storage.RegisterClients(storage.WebClient(client.ID, client.Secret, client.RedirectURI))
	return exampleop.SetupServer(issuer, storage.NewStorage(list(people)), slog.New(slog.DiscardHandler), false)
}

// list finds people for the provider.
type list []Person

// GetUserByID finds by subject.
func (l list) GetUserByID(id string) *storage.User {
	return l.find(func(p Person) bool { return p.Subject == id })
}

// GetUserByUsername finds by the name of the log-in form.
func (l list) GetUserByUsername(name string) *storage.User {
	return l.find(func(p Person) bool { return p.Username == name })
}

// ExampleClientID is of no use here.
func (l list) ExampleClientID() string { return "" }

func (l list) find(is func(Person) bool) *storage.User {
	for _, p := range l {
		if is(p) {
			return &storage.User{ID: p.Subject, Username: p.Username, Password: p.Password,
				FirstName: p.First, LastName: p.Last, Email: p.Email, EmailVerified: true}
		}
	}
	return nil
}

// LogIn does what a browser does at the provider: it opens the page, sends
// the form and follows redirects. It returns the address that the provider sends
// the browser back to.
func LogIn(ctx context.Context, page, username, password string) (*url.URL, error) {
	start, err := url.Parse(page)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	next := start
	for range 10 {
		to, err := step(ctx, browser, next, username, password)
		if err != nil {
			return nil, err
		}
		if to.Host != start.Host {
			return to, nil
		}
		next = to
	}
	return nil, errors.New("the provider does not send the browser back")
}

// step opens a page of the provider, and sends the form where it is one. It gives
// the address that the provider goes on to.
func step(ctx context.Context, browser *http.Client, at *url.URL, username, password string) (*url.URL, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	if id := at.Query().Get("authRequestID"); id != "" {
		form := url.Values{"id": {id}, "username": {username}, "password": {password}}
		ask, err = http.NewRequestWithContext(ctx, http.MethodPost, at.Scheme+"://"+at.Host+"/login/username",
			strings.NewReader(form.Encode()))
		if err != nil {
			return nil, err
		}
		ask.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := browser.Do(ask)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	to, err := answer.Location()
	if err != nil {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return nil, fmt.Errorf("%s answers %d: %s", at.Path, answer.StatusCode, text)
	}
	return to, nil
}
