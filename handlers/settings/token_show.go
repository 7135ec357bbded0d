package settings

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// tokensShow lists the tokens that a person may see.
func (p *tokenPages) tokensShow(c echo.Context, who tenancy.Principal) error {
	return p.tokensPage(c, who, http.StatusOK, nil, issuerFields.Read(url.Values{}))
}

// tokensPage answers with the list, with a token that was just made on top, and the form that
// trusts an issuer.
func (p *tokenPages) tokensPage(c echo.Context, who tenancy.Principal, status int, made *view.MadeToken, issuer ui.Form) error {
	ctx := c.Request().Context()
	list, err := p.Accounts.Tokens.List(ctx, who)
	if err != nil {
		return err
	}
	m := tokensModel(list, who.Can(tenancy.RunFleet))
	m.Made, m.Issuer = made, issuer
	if m.CanEnrol {
		trusted, err := p.Accounts.Issuers.List(ctx, who)
		if err != nil {
			return err
		}
		m.Issuers = issuerModels(trusted)
	}
	if m.Shell, err = p.shell(c, who, "Tokens", links.Tokens); err != nil {
		return err
	}
	return web.RenderSecret(c, status, view.TokensView(m))
}

// tokenNew answers with the empty form.
func (p *tokenPages) tokenNew(c echo.Context, who tenancy.Principal) error {
	kind := tenancy.Kind(c.QueryParam("kind"))
	if kind != tenancy.KindEnrolment {
		kind = tenancy.KindPerson
	}
	if kind == tenancy.KindEnrolment && !who.Can(tenancy.RunFleet) {
		return fault.New(fault.Forbidden, "Enrolment tokens are made by owners and admins.")
	}
	sheet := tokenFormData{form: blankToken(kind, "")}
	if kind == tenancy.KindPerson {
		kept, err := p.TakeFromSession(c, keptTokenForm)
		if err != nil {
			return err
		}
		if in, err := url.ParseQuery(kept); err == nil && kept != "" {
			sheet.form = tokenFields.Read(in)
		}
		if sheet.proof, err = p.AskProof(c, who, links.NewToken(string(kind))); err != nil {
			return err
		}
	}
	return p.tokenFormPage(c, who, http.StatusOK, sheet)
}

func (p *tokenPages) tokenFormPage(c echo.Context, who tenancy.Principal, status int, sheet tokenFormData) error {
	var err error
	if sheet.kind() == tenancy.KindEnrolment {
		if sheet.products, err = p.Jobs.Products(c.Request().Context(), who); err != nil {
			return err
		}
	}
	shell, err := p.shell(c, who, "New token", links.NewToken(string(sheet.kind())))
	if err != nil {
		return err
	}
	return web.Render(c, status, view.TokenFormView(view.TokenFormPage{Shell: shell, Form: sheet.model()}))
}
