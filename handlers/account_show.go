package handlers

import (
	"maps"
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

// accountShow is the page of the own account.
func (s *Server) accountShow(c echo.Context, who tenancy.Principal) error {
	return s.accountPage(c, who, http.StatusOK, accountSheet{})
}

// accountPage shows the page, with what a refused form said.
func (s *Server) accountPage(c echo.Context, who tenancy.Principal, status int, sheet accountSheet) error {
	ctx := c.Request().Context()
	var err error
	if sheet.profile, err = s.Accounts.Profile(ctx, who); err != nil {
		return err
	}
	if sheet.sessions, err = s.Accounts.Sessions(ctx, who, s.Web.SessionToken(c)); err != nil {
		return err
	}
	if sheet.logins, err = s.Accounts.NewLogIns(ctx, who, s.Web.SessionToken(c)); err != nil {
		return err
	}
	if sheet.identity, err = s.identityPart(c, who); err != nil {
		return err
	}
	if !sheet.profile.HasPassword {
		if sheet.proof, err = s.Web.AskProof(c, who, links.Account); err != nil {
			return err
		}
	}
	shell, err := s.accountShell(c, who, "Your account")
	if err != nil {
		return err
	}
	return web.Render(c, status, views.AccountView(sheet.model(shell)))
}

// accountShell is the shell of a page of the own account. A refused form has no
// address that could be gone back to.
func (s *Server) accountShell(c echo.Context, who tenancy.Principal, title string) (views.Shell, error) {
	snap, err := s.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return views.Shell{}, err
	}
	shell, err := s.Web.Page(c, who, snap, views.SectionSettings, title)
	if err == nil && c.Request().Method != http.MethodGet {
		shell.Path = links.Account
	}
	return shell, err
}

// accountAgain shows the page with the reason of a refused form: at its fields,
// renamed where two forms have a field of one name, or in its part. Other errors
// go on.
func (s *Server) accountAgain(c echo.Context, who tenancy.Principal, sheet accountSheet, err error, rename map[string]string) error {
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
	return s.accountPage(c, who, status.Of(f.Code), sheet)
}
