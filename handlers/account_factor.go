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
	"fleetboard/views/ui"
)

// factorBegin makes a secret and goes on to it.
func (s *Server) factorBegin(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	if err := s.Accounts.BeginSecondFactor(c.Request().Context(), who, in.Get("current"), c.RealIP()); err != nil {
		if who.NeedsFactor {
			return s.dutyAgain(c, who, err)
		}
		return s.accountAgain(c, who, accountSheet{in: "factor"}, err, map[string]string{"current": "factor"})
	}
	return web.SeeOther(c, links.SecondFactor)
}

// dutyAgain shows the page of a duty with the reason of a refused password.
func (s *Server) dutyAgain(c echo.Context, who tenancy.Principal, err error) error {
	f := fault.From(err)
	text := f.Fields["current"]
	switch {
	case web.MustWait(f):
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.RetryAfter(f)))
		text = web.TryAgainText(f)
	case f.Code != fault.Validation:
		return err
	}
	return s.factorDuty(c, who, status.Of(f.Code), text)
}

// factorShow shows the secret that waits for its first code.
func (s *Server) factorShow(c echo.Context, who tenancy.Principal) error {
	return s.factorPage(c, who, http.StatusOK, "")
}

func (s *Server) factorPage(c echo.Context, who tenancy.Principal, status int, text string) error {
	secret, err := s.Accounts.PendingSecondFactor(c.Request().Context(), who)
	if fault.Is(err, fault.NotFound) && who.NeedsFactor {
		return s.factorDuty(c, who, http.StatusOK, "")
	}
	if fault.Is(err, fault.NotFound) {
		return web.SeeOther(c, links.Account)
	}
	if err != nil {
		return err
	}
	if who.NeedsFactor {
		m := factorPage(views.Shell{}, secret, text)
		return web.Render(c, status, views.FactorDutySecretView(web.ThemeOf(c), m))
	}
	shell, err := s.accountShell(c, who, "Second factor")
	if err != nil {
		return err
	}
	return web.Render(c, status, views.FactorView(factorPage(shell, secret, text)))
}

// factorConfirm turns the second factor on and shows the recovery codes, once.
func (s *Server) factorConfirm(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	// The token changes with what protects the account.
	ctx, err := s.Sessions.Load(c.Request().Context(), s.Web.SessionToken(c))
	if err != nil {
		return err
	}
	codes, err := s.Accounts.ConfirmSecondFactor(c.Request().Context(), who, in.Get("code"), c.RealIP())
	switch f := fault.From(err); {
	case err == nil:
	case f.Code == fault.Validation:
		return s.factorPage(c, who, status.Of(f.Code), f.Fields["code"])
	case f.Code == fault.TooMany:
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.RetryAfter(f)))
		return s.factorPage(c, who, status.Of(f.Code), web.TryAgainText(f))
	case f.Code == fault.NotFound:
		s.Web.SetFlash(c, ui.Toast{Tone: ui.Bad, Title: "Nothing was turned on", Text: f.Message})
		return web.SeeOther(c, links.Account)
	default:
		return err
	}
	epoch, err := s.Accounts.SessionEpoch(c.Request().Context(), who.Account)
	if err != nil {
		return err
	}
	if err := s.Accounts.EndThisSession(c.Request().Context(), s.Web.SessionToken(c)); err != nil {
		return err
	}
	if err := s.Web.RenewSession(ctx, c, epoch); err != nil {
		return err
	}
	return s.codesPage(c, who, codes, true)
}

// factorDrop turns the second factor off.
func (s *Server) factorDrop(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	if err := s.Accounts.DropSecondFactor(c.Request().Context(), who, in.Get("current"), c.RealIP()); err != nil {
		return s.accountAgain(c, who, accountSheet{in: "factor"}, err, map[string]string{"current": "drop"})
	}
	s.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The second factor is off", Text: "Your password alone is enough to log in."})
	return web.SeeOther(c, links.Account)
}

// recoveryCodes makes new recovery codes and shows them, once.
func (s *Server) recoveryCodes(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	codes, err := s.Accounts.NewRecoveryCodes(c.Request().Context(), who, in.Get("current"), c.RealIP())
	if err != nil {
		return s.accountAgain(c, who, accountSheet{in: "factor"}, err, map[string]string{"current": "codes"})
	}
	return s.codesPage(c, who, codes, false)
}

func (s *Server) codesPage(c echo.Context, who tenancy.Principal, codes []string, first bool) error {
	if who.NeedsFactor {
		return web.Render(c, http.StatusOK, views.FactorDutyCodesView(web.ThemeOf(c), views.CodesPage{Codes: codes, First: first}))
	}
	shell, err := s.accountShell(c, who, "Recovery codes")
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, views.CodesView(views.CodesPage{Shell: shell, Codes: codes, First: first}))
}
