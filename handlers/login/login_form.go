package login

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/login"
)

// loginForm shows the form; who is logged in goes on at once.
func (p *Pages) loginForm(c echo.Context, _ tenancy.Principal) error {
	next := web.SafeNext(c.QueryParam("next"))
	_, err := p.Person(c)
	switch {
	case err == nil:
		return web.SeeOther(c, next)
	case !fault.Is(err, fault.Unauthenticated):
		return err
	}
	return web.Render(c, http.StatusOK, view.LoginView(view.Login{Theme: web.ReadTheme(c), Next: next, Identity: p.identityLogin(next)}))
}

// login begins a session, or shows the form again with the e-mail kept.
func (p *Pages) login(c echo.Context, _ tenancy.Principal) error {
	fields, err := web.Form(c)
	if err != nil {
		return err
	}
	email, next := fields.Get("email"), web.SafeNext(fields.Get("next"))
	if fields.Get("password") == "" {
		return p.loginAgain(c, fault.New(fault.Validation, "The password is empty."), email, next, "The password is empty.")
	}
	in, err := p.Accounts.LogIns.LogIn(c.Request().Context(), email, fields.Get("password"), p.LoginOrigin(c))
	switch f := fault.From(err); {
	case err == nil:
	case f.Code == fault.Unauthenticated:
		return p.loginAgain(c, f, email, next, f.Message)
	case web.MustWait(f):
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.RetryAfter(f)))
		return p.loginAgain(c, f, email, next, web.TryAgainText(f))
	default:
		return err
	}
	if in.NeedsCode {
		if err := p.HalfSignIn(c, in); err != nil {
			return err
		}
		return web.SeeOther(c, links.LoginCodeNext(next))
	}
	if err := p.SignInAtEpoch(c, in.ID, in.Epoch); err != nil {
		return err
	}
	return web.SeeOther(c, next)
}

func (p *Pages) loginAgain(c echo.Context, f *fault.Error, email, next, text string) error {
	return web.Render(c, status.Of(f.Code), view.LoginView(view.Login{
		Theme: web.ReadTheme(c), Email: email, Next: next, Error: text, Identity: p.identityLogin(next),
	}))
}

// loginCodeForm shows the form for the second factor. Without a half session the log in
// begins again.
func (p *Pages) loginCodeForm(c echo.Context, _ tenancy.Principal) error {
	next := web.SafeNext(c.QueryParam("next"))
	if _, _, err := p.HalfSignedIn(c); err != nil {
		return p.beginAgain(c, next, err)
	}
	return web.Render(c, http.StatusOK, view.LoginCodeView(view.LoginCode{Theme: web.ReadTheme(c), Next: next}))
}

// loginCode makes a whole session of a half one.
func (p *Pages) loginCode(c echo.Context, _ tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	next := web.SafeNext(in.Get("next"))
	account, epoch, err := p.HalfSignedIn(c)
	if err != nil {
		return p.beginAgain(c, next, err)
	}
	err = p.Accounts.SecondFactors.CheckCode(c.Request().Context(), account, in.Get("code"), p.LoginOrigin(c))
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
		return web.Render(c, status.Of(f.Code), view.LoginCodeView(view.LoginCode{Theme: web.ReadTheme(c), Next: next, Error: text}))
	}
	if err := p.SignInAtEpoch(c, account, epoch); err != nil {
		return err
	}
	return web.SeeOther(c, next)
}

// beginAgain goes back to the log in where the half session is over.
func (p *Pages) beginAgain(c echo.Context, next string, err error) error {
	if !fault.Is(err, fault.Unauthenticated) {
		return err
	}
	return web.SeeOther(c, web.LoginFor(next))
}

// logout works also where the session is already over.
func (p *Pages) logout(c echo.Context, _ tenancy.Principal) error {
	if err := p.SignOut(c); err != nil {
		return err
	}
	return web.SeeOther(c, links.Login)
}
