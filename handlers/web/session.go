package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// sessionLife is how long a person stays logged in at most. The session manager has no idle
// limit, with which it would write the session on every request, also on one that was under
// way at log out. The store has one.
const sessionLife = 12 * time.Hour

// halfLife is how long a person has for the second factor.
const halfLife = 5 * time.Minute

// NewSessions returns the manager of the browsers' sessions in a store. secure makes the
// cookie one that only https sends and no other host can set.
func NewSessions(store scs.Store, secure bool) *scs.SessionManager {
	m := scs.New()
	m.Store = store
	m.Lifetime = sessionLife
	m.Cookie.Name = "sid"
	if secure {
		m.Cookie.Name = "__Host-sid"
	}
	m.Cookie.Secure = secure
	m.Cookie.Path = "/"
	m.Cookie.HttpOnly = true
	m.Cookie.SameSite = http.SameSiteLaxMode
	return m
}

func notSignedIn() error {
	return fault.New(fault.Unauthenticated, "Log in to go on.")
}

// Person returns the person of the browser's session. It writes nothing.
func (s *Site) Person(c echo.Context) (tenancy.Principal, error) {
	cookie, err := c.Cookie(s.Sessions.Cookie.Name)
	if err != nil || cookie.Value == "" {
		return tenancy.Principal{}, notSignedIn()
	}
	ctx, err := s.Sessions.Load(c.Request().Context(), cookie.Value)
	if err != nil {
		return tenancy.Principal{}, err
	}
	account, ok := ids.Parse(s.Sessions.GetString(ctx, sessions.Account))
	if !ok {
		return tenancy.Principal{}, notSignedIn()
	}
	workspace, _ := ids.Parse(s.Sessions.GetString(ctx, sessions.Workspace))
	return s.Accounts.Workspaces.Person(ctx, account, workspace)
}

// SignIn begins a session for an account under a new token, so that a token that an attacker
// planted before is worth nothing. The browser's previous session ends with all its values.
func (s *Site) SignIn(c echo.Context, account people.Account) error {
	epoch, err := s.Accounts.Sessions.Epoch(c.Request().Context(), account.ID)
	if err != nil {
		return err
	}
	return s.SignInAtEpoch(c, account.ID, epoch)
}

// SignInAtEpoch is SignIn for credentials that were checked in an epoch: where all sessions were
// ended since, the new one is not valid either.
func (s *Site) SignInAtEpoch(c echo.Context, account ids.ID, epoch int64) error {
	return s.BeginSession(c, map[string]string{sessions.Account: account.String(), sessions.Epoch: EpochText(epoch)}, 0)
}

// HalfSignIn begins the session of a person who still has to pass the second factor.
func (s *Site) HalfSignIn(c echo.Context, in login.LoggedIn) error {
	return s.BeginSession(c, map[string]string{sessions.Half: in.ID.String(), sessions.Epoch: EpochText(in.Epoch)}, halfLife)
}

// BeginSession begins a session with these values under a new token; a life of 0 is the
// session manager's.
func (s *Site) BeginSession(c echo.Context, values map[string]string, life time.Duration) error {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.SessionToken(c))
	if err != nil {
		return err
	}
	if err := s.Sessions.RenewToken(ctx); err != nil {
		return err
	}
	if err := s.Sessions.Clear(ctx); err != nil {
		return err
	}
	for name, value := range values {
		s.Sessions.Put(ctx, name, value)
	}
	if values[sessions.Account] != "" {
		s.Sessions.Put(ctx, sessions.Proven, ProvenNow())
	}
	if err := s.rememberDevice(c, values); err != nil {
		return err
	}
	s.Sessions.Put(ctx, sessions.Address, c.RealIP())
	s.Sessions.Put(ctx, sessions.UserAgent, c.Request().UserAgent())
	if life > 0 {
		s.Sessions.SetDeadline(ctx, time.Now().Add(life).UTC())
	}
	if err := s.saveSession(ctx, c); err != nil {
		return err
	}
	return s.recordLogIn(ctx, c, values)
}

// HalfSignedIn returns the account that waits for its second factor, and the epoch in which its
// password was checked. Fault: Unauthenticated.
func (s *Site) HalfSignedIn(c echo.Context) (account ids.ID, epoch int64, err error) {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.SessionToken(c))
	if err != nil {
		return ids.Nil, 0, err
	}
	account, ok := ids.Parse(s.Sessions.GetString(ctx, sessions.Half))
	if !ok {
		return ids.Nil, 0, notSignedIn()
	}
	epoch, err = strconv.ParseInt(s.Sessions.GetString(ctx, sessions.Epoch), 10, 64)
	return account, epoch, err
}

// RenewSession gives the browser's session a new token after a change of the account's
// credentials: ctx was loaded before, and the session of the old token has just been ended.
// Its values stay.
func (s *Site) RenewSession(ctx context.Context, c echo.Context, epoch int64) error {
	if err := s.Sessions.RenewToken(ctx); err != nil {
		return err
	}
	values := map[string]string{
		sessions.Epoch:   EpochText(epoch),
		sessions.Account: s.Sessions.GetString(ctx, sessions.Account),
	}
	s.Sessions.Put(ctx, sessions.Epoch, values[sessions.Epoch])
	s.Sessions.Put(ctx, sessions.Proven, ProvenNow())
	if err := s.rememberDevice(c, values); err != nil {
		return err
	}
	return s.saveSession(ctx, c)
}

// EpochText returns an epoch as it is stored in a session.
func EpochText(epoch int64) string { return strconv.FormatInt(epoch, 10) }

// SignOut ends the browser's session, on the server first.
func (s *Site) SignOut(c echo.Context) error {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.SessionToken(c))
	if err != nil {
		return err
	}
	if err := s.Sessions.Destroy(ctx); err != nil {
		return err
	}
	s.Sessions.WriteSessionCookie(ctx, c.Response(), "", time.Time{})
	noStore(c)
	// The browser removes what it stored of the pages.
	c.Response().Header().Set("Clear-Site-Data", `"cache", "storage"`)
	return nil
}

// KeepInSession stores a value in the browser's session, under the same token. A visitor without a
// session gets one of nobody. Where the session has ended meanwhile nothing is stored.
func (s *Site) KeepInSession(c echo.Context, name, value string) error {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.SessionToken(c))
	if err != nil {
		return err
	}
	s.Sessions.Put(ctx, name, value)
	return s.saveSession(ctx, c)
}

// TakeFromSession returns a value of the browser's session and removes it; "" where there is none.
func (s *Site) TakeFromSession(c echo.Context, name string) (string, error) {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.SessionToken(c))
	if err != nil {
		return "", err
	}
	value := s.Sessions.PopString(ctx, name)
	if value == "" {
		return "", nil
	}
	return value, s.saveSession(ctx, c)
}

// saveSession writes a loaded session and its cookie.
func (s *Site) saveSession(ctx context.Context, c echo.Context) error {
	token, expiry, err := s.Sessions.Commit(ctx)
	if err != nil {
		return err
	}
	s.Sessions.WriteSessionCookie(ctx, c.Response(), token, expiry)
	noStore(c)
	return nil
}

// SessionToken returns the token of the session that the browser sent, "" for none.
func (s *Site) SessionToken(c echo.Context) string {
	cookie, err := c.Cookie(s.Sessions.Cookie.Name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// noStore sets the header again that the session manager weakens when it writes the cookie.
func noStore(c echo.Context) {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
}

// recordLogIn records the log in whose session, with these values, was just saved. A session that
// waits for its second factor is none.
func (s *Site) recordLogIn(ctx context.Context, c echo.Context, values map[string]string) error {
	account, ok := ids.Parse(values[sessions.Account])
	if !ok {
		return nil
	}
	epoch, err := strconv.ParseInt(values[sessions.Epoch], 10, 64)
	if err != nil {
		return err
	}
	return s.Accounts.LogIns.NoteLogIn(ctx, account, epoch, s.LoginOrigin(c), c.Request().UserAgent(), s.Sessions.Token(ctx))
}

// StillSignedIn reports whether the session still lasts with the same role. A database that cannot
// be reached ends no stream.
func (s *Site) StillSignedIn(c echo.Context, who tenancy.Principal) bool {
	now, err := s.Person(c)
	if err != nil {
		return !fault.Is(err, fault.Unauthenticated)
	}
	return now.Account == who.Account && now.Workspace == who.Workspace && now.Role == who.Role && now.NeedsFactor == who.NeedsFactor
}
