package settings

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// factorBegin makes a secret and goes on to it.
func (p *accountPages) factorBegin(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	if err := p.Accounts.SecondFactors.Begin(c.Request().Context(), who, in.Get("current"), c.RealIP()); err != nil {
		if who.NeedsFactor {
			return p.dutyAgain(c, who, err)
		}
		return p.accountAgain(c, who, accountPageData{in: "factor"}, err, map[string]string{"current": "factor"})
	}
	return web.SeeOther(c, links.SecondFactor)
}

// dutyAgain shows the page of a duty with the reason of a refused password.
func (p *accountPages) dutyAgain(c echo.Context, who tenancy.Principal, err error) error {
	f := fault.From(err)
	text := f.Fields["current"]
	switch {
	case web.MustWait(f):
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.RetryAfter(f)))
		text = web.TryAgainText(f)
	case f.Code != fault.Validation:
		return err
	}
	return p.factorDuty(c, who, status.Of(f.Code), text)
}

// factorShow shows the secret that waits for its first code.
func (p *accountPages) factorShow(c echo.Context, who tenancy.Principal) error {
	return p.factorPage(c, who, http.StatusOK, "")
}

func (p *accountPages) factorPage(c echo.Context, who tenancy.Principal, status int, text string) error {
	secret, err := p.Accounts.SecondFactors.Pending(c.Request().Context(), who)
	if fault.Is(err, fault.NotFound) && who.NeedsFactor {
		return p.factorDuty(c, who, http.StatusOK, "")
	}
	if fault.Is(err, fault.NotFound) {
		return web.SeeOther(c, links.Account)
	}
	if err != nil {
		return err
	}
	if who.NeedsFactor {
		m := factorPage(layout.Shell{}, secret, text)
		return web.RenderSecret(c, status, view.FactorDutySecretView(web.ReadTheme(c), m))
	}
	shell, err := p.accountShell(c, who, "Second factor")
	if err != nil {
		return err
	}
	return web.RenderSecret(c, status, view.FactorView(factorPage(shell, secret, text)))
}

// factorConfirm turns the second factor on and shows the recovery codes, once.
func (p *accountPages) factorConfirm(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	// The token changes with what protects the account.
	ctx, err := p.Sessions.Load(c.Request().Context(), p.SessionToken(c))
	if err != nil {
		return err
	}
	codes, err := p.Accounts.SecondFactors.Confirm(c.Request().Context(), who, in.Get("code"), c.RealIP())
	switch f := fault.From(err); {
	case err == nil:
	case f.Code == fault.Validation:
		return p.factorPage(c, who, status.Of(f.Code), f.Fields["code"])
	case f.Code == fault.TooMany:
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.RetryAfter(f)))
		return p.factorPage(c, who, status.Of(f.Code), web.TryAgainText(f))
	case f.Code == fault.NotFound:
		p.SetFlash(c, ui.Toast{Tone: ui.Bad, Title: "Nothing was turned on", Text: f.Message})
		return web.SeeOther(c, links.Account)
	default:
		return err
	}
	epoch, err := p.Accounts.Sessions.Epoch(c.Request().Context(), who.Account)
	if err != nil {
		return err
	}
	if err := p.Accounts.Sessions.EndThis(c.Request().Context(), p.SessionToken(c)); err != nil {
		return err
	}
	if err := p.RenewSession(ctx, c, epoch); err != nil {
		return err
	}
	return p.codesPage(c, who, codes, true)
}

// factorDrop turns the second factor off.
func (p *accountPages) factorDrop(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	if err := p.Accounts.SecondFactors.Drop(c.Request().Context(), who, in.Get("current"), c.RealIP()); err != nil {
		return p.accountAgain(c, who, accountPageData{in: "factor"}, err, map[string]string{"current": "drop"})
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The second factor is off", Text: "Your password alone is enough to log in."})
	return web.SeeOther(c, links.Account)
}

// recoveryCodes makes new recovery codes and shows them, once.
func (p *accountPages) recoveryCodes(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	codes, err := p.Accounts.SecondFactors.NewRecoveryCodes(c.Request().Context(), who, in.Get("current"), c.RealIP())
	if err != nil {
		return p.accountAgain(c, who, accountPageData{in: "factor"}, err, map[string]string{"current": "codes"})
	}
	return p.codesPage(c, who, codes, false)
}

func (p *accountPages) codesPage(c echo.Context, who tenancy.Principal, codes []string, first bool) error {
	if who.NeedsFactor {
		return web.RenderSecret(c, http.StatusOK, view.FactorDutyCodesView(web.ReadTheme(c), view.CodesPage{Codes: codes, First: first}))
	}
	shell, err := p.accountShell(c, who, "Recovery codes")
	if err != nil {
		return err
	}
	return web.RenderSecret(c, http.StatusOK, view.CodesView(view.CodesPage{Shell: shell, Codes: codes, First: first}))
}
