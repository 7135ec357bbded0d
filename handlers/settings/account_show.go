package settings

import (
	"maps"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
)

// accountShow answers with the page of the own account.
func (p *accountPages) accountShow(c echo.Context, who tenancy.Principal) error {
	return p.accountPage(c, who, http.StatusOK, accountPageData{})
}

// accountPage shows the page, with what a refused form said.
func (p *accountPages) accountPage(c echo.Context, who tenancy.Principal, status int, sheet accountPageData) error {
	ctx := c.Request().Context()
	var err error
	if sheet.profile, err = p.Accounts.People.Profile(ctx, who); err != nil {
		return err
	}
	if sheet.sessions, err = p.Accounts.Sessions.List(ctx, who, p.SessionToken(c)); err != nil {
		return err
	}
	if sheet.logins, err = p.Accounts.LogIns.NewLogIns(ctx, who, p.SessionToken(c)); err != nil {
		return err
	}
	if sheet.identity, err = p.identityPart(c, who); err != nil {
		return err
	}
	if !sheet.profile.HasPassword {
		if sheet.proof, err = p.AskProof(c, who, links.Account); err != nil {
			return err
		}
	}
	shell, err := p.accountShell(c, who, "Your account")
	if err != nil {
		return err
	}
	return web.Render(c, status, view.AccountView(sheet.model(shell)))
}

// accountAgain shows the page with the reason of a refused form: at its fields,
// renamed where two forms have a field of one name, or in its part. Other errors
// go on.
func (p *accountPages) accountAgain(c echo.Context, who tenancy.Principal, sheet accountPageData, err error,
	rename map[string]string) error {
	f := fault.From(err)
	switch f.Code {
	case fault.Validation:
		sheet.errors = maps.Clone(f.Fields)
		for from, to := range rename {
			if text, ok := sheet.errors[from]; ok {
				delete(sheet.errors, from)
				sheet.errors[to] = text
			}
		}
	case fault.TooMany, fault.Unavailable:
		if _, ok := f.Details["retry_after"]; !ok {
			return err
		}
		sheet.err = web.TryAgainText(f)
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.RetryAfter(f)))
	case fault.InvalidTransition, fault.VersionConflict:
		sheet.err = f.Message
	default:
		return err
	}
	return p.accountPage(c, who, status.Of(f.Code), sheet)
}
