package handlers

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"fleetboard/internal/accounts"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// sessionLife is how long a person stays logged in, whatever happens. The session
// manager has no idle limit: it would write the session on every request, also on
// one that was under way at log out. The store has one.
const sessionLife = 12 * time.Hour

// halfLife is how long the page that asks for the second factor can be answered.
const halfLife = 5 * time.Minute

// NewSessions returns the manager of the browsers' sessions over a store.
// Secure makes a cookie that only https carries and no other host can set.
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

// person reads the session and says who it belongs to. It writes nothing.
func (s *Server) person(c echo.Context) (tenancy.Principal, error) {
	cookie, err := c.Cookie(s.Sessions.Cookie.Name)
	if err != nil || cookie.Value == "" {
		return tenancy.Principal{}, notSignedIn()
	}
	ctx, err := s.Sessions.Load(c.Request().Context(), cookie.Value)
	if err != nil {
		return tenancy.Principal{}, err
	}
	account, ok := ids.Parse(s.Sessions.GetString(ctx, accounts.SessionAccount))
	if !ok {
		return tenancy.Principal{}, notSignedIn()
	}
	workspace, _ := ids.Parse(s.Sessions.GetString(ctx, accounts.SessionWorkspace))
	return s.Accounts.Person(ctx, account, workspace)
}

// signIn begins a session for an account, under a new token: one that an
// attacker planted before is worth nothing. The session the browser had ends, and
// nothing that was kept in it goes on.
func (s *Server) signIn(c echo.Context, account accounts.Account) error {
	epoch, err := s.Accounts.SessionEpoch(c.Request().Context(), account.ID)
	if err != nil {
		return err
	}
	return s.wholeSignIn(c, account.ID, epoch)
}

// wholeSignIn is signIn for credentials that were checked in an epoch: where all
// sessions ended since, the new one is over before it begins.
func (s *Server) wholeSignIn(c echo.Context, account ids.ID, epoch int64) error {
	return s.beginSession(c, map[string]string{accounts.SessionAccount: account.String(), accounts.SessionEpoch: epochText(epoch)}, 0)
}

// halfSignIn begins the session of a person whose second factor is to be asked.
func (s *Server) halfSignIn(c echo.Context, in accounts.LoggedIn) error {
	return s.beginSession(c, map[string]string{accounts.SessionHalf: in.ID.String(), accounts.SessionEpoch: epochText(in.Epoch)}, halfLife)
}

// beginSession begins one with these values under a new token; a life of 0 is
// that of the session manager.
func (s *Server) beginSession(c echo.Context, values map[string]string, life time.Duration) error {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.token(c))
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
	if values[accounts.SessionAccount] != "" {
		s.Sessions.Put(ctx, accounts.SessionProven, provenNow())
	}
	if err := s.knowDevice(c, values); err != nil {
		return err
	}
	s.Sessions.Put(ctx, accounts.SessionAddress, c.RealIP())
	s.Sessions.Put(ctx, accounts.SessionUserAgent, c.Request().UserAgent())
	if life > 0 {
		s.Sessions.SetDeadline(ctx, time.Now().Add(life).UTC())
	}
	if err := s.saveSession(ctx, c); err != nil {
		return err
	}
	return s.noteLogIn(ctx, c, values)
}

// half is the account that waits for its second factor, and the epoch its
// password was checked in. Fault: Unauthenticated.
func (s *Server) half(c echo.Context) (account ids.ID, epoch int64, err error) {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.token(c))
	if err != nil {
		return ids.Nil, 0, err
	}
	account, ok := ids.Parse(s.Sessions.GetString(ctx, accounts.SessionHalf))
	if !ok {
		return ids.Nil, 0, notSignedIn()
	}
	epoch, err = strconv.ParseInt(s.Sessions.GetString(ctx, accounts.SessionEpoch), 10, 64)
	return account, epoch, err
}

// renewSession gives the browser's session another token, after a change of what
// protects the account: ctx was loaded before, and the session of the old token
// has just been ended. What was kept in it goes on.
func (s *Server) renewSession(ctx context.Context, c echo.Context, epoch int64) error {
	if err := s.Sessions.RenewToken(ctx); err != nil {
		return err
	}
	values := map[string]string{accounts.SessionEpoch: epochText(epoch), accounts.SessionAccount: s.Sessions.GetString(ctx, accounts.SessionAccount)}
	s.Sessions.Put(ctx, accounts.SessionEpoch, values[accounts.SessionEpoch])
	s.Sessions.Put(ctx, accounts.SessionProven, provenNow())
	if err := s.knowDevice(c, values); err != nil {
		return err
	}
	return s.saveSession(ctx, c)
}

func epochText(epoch int64) string { return strconv.FormatInt(epoch, 10) }

// signOut ends the browser's session, on the server first.
func (s *Server) signOut(c echo.Context) error {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.token(c))
	if err != nil {
		return err
	}
	if err := s.Sessions.Destroy(ctx); err != nil {
		return err
	}
	s.Sessions.WriteSessionCookie(ctx, c.Response(), "", time.Time{})
	noStore(c)
	// What the browser kept of the pages goes too.
	c.Response().Header().Set("Clear-Site-Data", `"cache", "storage"`)
	return nil
}

// putSession keeps a value in the browser's session, under the same token; a
// visitor without a session gets one that opens nothing. Where the session has
// ended in the meantime nothing is kept.
func (s *Server) putSession(c echo.Context, name, value string) error {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.token(c))
	if err != nil {
		return err
	}
	s.Sessions.Put(ctx, name, value)
	return s.saveSession(ctx, c)
}

// takeSession reads a value of the browser's session and removes it; "" where
// there is none.
func (s *Server) takeSession(c echo.Context, name string) (string, error) {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.token(c))
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
func (s *Server) saveSession(ctx context.Context, c echo.Context) error {
	token, expiry, err := s.Sessions.Commit(ctx)
	if err != nil {
		return err
	}
	s.Sessions.WriteSessionCookie(ctx, c.Response(), token, expiry)
	noStore(c)
	return nil
}

// token is the session token the browser sent, "" for none.
func (s *Server) token(c echo.Context) string {
	cookie, err := c.Cookie(s.Sessions.Cookie.Name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// noStore puts back the header that the session manager weakens when it writes
// the cookie.
func noStore(c echo.Context) {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
}

// form reads the posted fields. Faults: TooLarge, UnsupportedMedia, Malformed.
func form(c echo.Context) (url.Values, error) {
	r := c.Request()
	kind, _, _ := strings.Cut(r.Header.Get(echo.HeaderContentType), ";")
	if kind != "" && !strings.EqualFold(strings.TrimSpace(kind), echo.MIMEApplicationForm) {
		return nil, fault.New(fault.UnsupportedMedia, "The form was sent in a way that is not understood.")
	}
	if err := r.ParseForm(); err != nil {
		var over *http.MaxBytesError
		if errors.As(err, &over) {
			return nil, tooLarge(err)
		}
		return nil, fault.Wrap(err, fault.Malformed, "The form could not be read.")
	}
	return r.PostForm, nil
}
