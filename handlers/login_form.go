package handlers

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/status"
	"fleetboard/handlers/web"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
)

// loginForm shows the form; who is logged in goes on at once.
func (s *Server) loginForm(c echo.Context, _ tenancy.Principal) error {
	next := web.SafeNext(c.QueryParam("next"))
	_, err := s.Web.Person(c)
	switch {
	case err == nil:
		return web.SeeOther(c, next)
	case !fault.Is(err, fault.Unauthenticated):
		return err
	}
	return web.Render(c, http.StatusOK, views.LoginView(views.Login{Theme: web.ThemeOf(c), Next: next, Identity: s.identityLogin(next)}))
}

// login begins a session, or shows the form again with the e-mail kept.
func (s *Server) login(c echo.Context, _ tenancy.Principal) error {
	fields, err := web.Form(c)
	if err != nil {
		return err
	}
	email, next := fields.Get("email"), web.SafeNext(fields.Get("next"))
	in, err := s.Accounts.LogIn(c.Request().Context(), email, fields.Get("password"), s.Web.LoginOrigin(c))
	switch f := fault.From(err); {
	case err == nil:
	case f.Code == fault.Unauthenticated:
		return s.loginAgain(c, f, email, next, f.Message)
	case web.MustWait(f):
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.RetryAfter(f)))
		return s.loginAgain(c, f, email, next, web.TryAgainText(f))
	default:
		return err
	}
	if in.NeedsCode {
		if err := s.Web.HalfSignIn(c, in); err != nil {
			return err
		}
		return web.SeeOther(c, links.LoginCodeNext(next))
	}
	if err := s.Web.WholeSignIn(c, in.ID, in.Epoch); err != nil {
		return err
	}
	return web.SeeOther(c, next)
}

func (s *Server) loginAgain(c echo.Context, f *fault.Error, email, next, text string) error {
	return web.Render(c, status.Of(f.Code), views.LoginView(views.Login{
		Theme: web.ThemeOf(c), Email: email, Next: next, Error: text, Identity: s.identityLogin(next),
	}))
}

// loginCodeForm asks for the second factor. Without a half session the log in
// begins again.
func (s *Server) loginCodeForm(c echo.Context, _ tenancy.Principal) error {
	next := web.SafeNext(c.QueryParam("next"))
	if _, _, err := s.Web.HalfSignedIn(c); err != nil {
		return s.beginAgain(c, next, err)
	}
	return web.Render(c, http.StatusOK, views.LoginCodeView(views.LoginCode{Theme: web.ThemeOf(c), Next: next}))
}

// loginCode makes a whole session of a half one.
func (s *Server) loginCode(c echo.Context, _ tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	next := web.SafeNext(in.Get("next"))
	account, epoch, err := s.Web.HalfSignedIn(c)
	if err != nil {
		return s.beginAgain(c, next, err)
	}
	err = s.Accounts.CheckCode(c.Request().Context(), account, in.Get("code"), s.Web.LoginOrigin(c))
	if err != nil {
		f := fault.From(err)
		text := f.Message
		switch {
		case web.MustWait(f):
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.RetryAfter(f)))
			text = web.TryAgainText(f)
		case f.Code != fault.Unauthenticated:
			return err
		}
		return web.Render(c, status.Of(f.Code), views.LoginCodeView(views.LoginCode{Theme: web.ThemeOf(c), Next: next, Error: text}))
	}
	if err := s.Web.WholeSignIn(c, account, epoch); err != nil {
		return err
	}
	return web.SeeOther(c, next)
}

// beginAgain goes back to the log in where the half session is over.
func (s *Server) beginAgain(c echo.Context, next string, err error) error {
	if !fault.Is(err, fault.Unauthenticated) {
		return err
	}
	return web.SeeOther(c, web.LoginFor(next))
}

// logout works also where the session is already over.
func (s *Server) logout(c echo.Context, _ tenancy.Principal) error {
	if err := s.Web.SignOut(c); err != nil {
		return err
	}
	return web.SeeOther(c, links.Login)
}
