package handlers

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/status"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
)

// loginForm shows the form; who is logged in goes on at once.
func (s *Server) loginForm(c echo.Context, _ tenancy.Principal) error {
	next := safeNext(c.QueryParam("next"))
	_, err := s.person(c)
	switch {
	case err == nil:
		return seeOther(c, next)
	case !fault.Is(err, fault.Unauthenticated):
		return err
	}
	return render(c, http.StatusOK, views.LoginView(views.Login{Theme: themeOf(c), Next: next, Identity: s.identityLogin(next)}))
}

// login begins a session, or shows the form again with the e-mail kept.
func (s *Server) login(c echo.Context, _ tenancy.Principal) error {
	fields, err := form(c)
	if err != nil {
		return err
	}
	email, next := fields.Get("email"), safeNext(fields.Get("next"))
	in, err := s.Accounts.LogIn(c.Request().Context(), email, fields.Get("password"), s.originOf(c))
	switch f := fault.From(err); {
	case err == nil:
	case f.Code == fault.Unauthenticated:
		return s.loginAgain(c, f, email, next, f.Message)
	case waits(f):
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(retryAfter(f)))
		return s.loginAgain(c, f, email, next, tryAgain(f))
	default:
		return err
	}
	if in.NeedsCode {
		if err := s.halfSignIn(c, in); err != nil {
			return err
		}
		return seeOther(c, links.LoginCodeNext(next))
	}
	if err := s.wholeSignIn(c, in.ID, in.Epoch); err != nil {
		return err
	}
	return seeOther(c, next)
}

func (s *Server) loginAgain(c echo.Context, f *fault.Error, email, next, text string) error {
	return render(c, status.Of(f.Code), views.LoginView(views.Login{
		Theme: themeOf(c), Email: email, Next: next, Error: text, Identity: s.identityLogin(next),
	}))
}

// waits reports whether a refusal says how long to wait.
func waits(f *fault.Error) bool {
	_, ok := f.Details["retry_after"]
	return ok && (f.Code == fault.TooMany || f.Code == fault.Unavailable)
}

// loginCodeForm asks for the second factor. Without a half session the log in
// begins again.
func (s *Server) loginCodeForm(c echo.Context, _ tenancy.Principal) error {
	next := safeNext(c.QueryParam("next"))
	if _, _, err := s.half(c); err != nil {
		return s.beginAgain(c, next, err)
	}
	return render(c, http.StatusOK, views.LoginCodeView(views.LoginCode{Theme: themeOf(c), Next: next}))
}

// loginCode makes a whole session of a half one.
func (s *Server) loginCode(c echo.Context, _ tenancy.Principal) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	next := safeNext(in.Get("next"))
	account, epoch, err := s.half(c)
	if err != nil {
		return s.beginAgain(c, next, err)
	}
	err = s.Accounts.CheckCode(c.Request().Context(), account, in.Get("code"), s.originOf(c))
	if err != nil {
		f := fault.From(err)
		text := f.Message
		switch {
		case waits(f):
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(retryAfter(f)))
			text = tryAgain(f)
		case f.Code != fault.Unauthenticated:
			return err
		}
		return render(c, status.Of(f.Code), views.LoginCodeView(views.LoginCode{Theme: themeOf(c), Next: next, Error: text}))
	}
	if err := s.wholeSignIn(c, account, epoch); err != nil {
		return err
	}
	return seeOther(c, next)
}

// beginAgain goes back to the log in where the half session is over.
func (s *Server) beginAgain(c echo.Context, next string, err error) error {
	if !fault.Is(err, fault.Unauthenticated) {
		return err
	}
	return seeOther(c, loginFor(next))
}

func waitWords(seconds int) string {
	switch {
	case seconds == 1:
		return "a second"
	case seconds < 100:
		return fmt.Sprintf("%d seconds", seconds)
	default:
		return fmt.Sprintf("%d minutes", (seconds+59)/60)
	}
}

// logout works also where the session is already over.
func (s *Server) logout(c echo.Context, _ tenancy.Principal) error {
	if err := s.signOut(c); err != nil {
		return err
	}
	return seeOther(c, links.Login)
}
