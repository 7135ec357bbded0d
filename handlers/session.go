package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"fleetboard/internal/accounts"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// sessionLife is how long a person stays logged in, whatever happens. There is
// no idle limit in the session manager: it would write the session on every
// request, also on one that was under way at log out.
const sessionLife = 12 * time.Hour

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
	return s.Accounts.Person(ctx, account, ids.Nil)
}

// signIn begins a session for an account, under a new token: one that an
// attacker planted before is worth nothing. The session the browser had ends.
func (s *Server) signIn(c echo.Context, account accounts.Account) error {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.token(c))
	if err != nil {
		return err
	}
	if err := s.Sessions.RenewToken(ctx); err != nil {
		return err
	}
	s.Sessions.Put(ctx, accounts.SessionAccount, account.ID.String())
	s.Sessions.Put(ctx, accounts.SessionAddress, c.RealIP())
	s.Sessions.Put(ctx, accounts.SessionUserAgent, c.Request().UserAgent())
	token, expiry, err := s.Sessions.Commit(ctx)
	if err != nil {
		return err
	}
	s.Sessions.WriteSessionCookie(ctx, c.Response(), token, expiry)
	noStore(c)
	return nil
}

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

// safeNext returns a path of ours to go on to. Anything a browser could take
// for another site's address becomes the board.
func safeNext(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") {
		return links.Board
	}
	// Browsers read a backslash as a slash and leave control characters out.
	for _, r := range next {
		if r < ' ' || r == 0x7f || r == '\\' {
			return links.Board
		}
	}
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || strings.HasPrefix(u.Path, "//") {
		return links.Board
	}
	if u.Path == links.Login || u.Path == links.Home {
		return links.Board
	}
	return next
}
