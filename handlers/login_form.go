package handlers

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

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
	return render(c, http.StatusOK, views.LoginView(views.Login{Theme: themeOf(c), Next: next}))
}

// login begins a session, or shows the form again with the e-mail kept.
func (s *Server) login(c echo.Context, _ tenancy.Principal) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	email, next := in.Get("email"), safeNext(in.Get("next"))
	account, err := s.Accounts.LogIn(c.Request().Context(), email, in.Get("password"), c.RealIP())
	switch f := fault.From(err); {
	case err == nil:
	case f.Code == fault.Unauthenticated:
		return s.loginAgain(c, f, email, next, f.Message)
	case f.Code == fault.TooMany:
		wait := retryAfter(f)
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(wait))
		return s.loginAgain(c, f, email, next, "Too many attempts. Try again in "+waitWords(wait)+".")
	default:
		return err
	}
	if err := s.signIn(c, account); err != nil {
		return err
	}
	return seeOther(c, next)
}

func (s *Server) loginAgain(c echo.Context, f *fault.Error, email, next, text string) error {
	return render(c, f.Code.Entry().Status, views.LoginView(views.Login{
		Theme: themeOf(c), Email: email, Next: next, Error: text,
	}))
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
