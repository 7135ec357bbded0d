package settings

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// tokenIssue makes a token and answers with the page that shows it, once: a
// redirect would lose it. The same form sent again, as a reload does, makes none.
func (p *tokenPages) tokenIssue(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	sheet := tokenFormData{form: tokenFields.Read(in)}
	if asked, err := p.tokenProof(c, who, sheet, in); asked || err != nil {
		return err
	}
	made, err := p.issueToken(c, who, &sheet)
	switch {
	case fault.Is(err, fault.AlreadyExists):
		return p.madeBefore(c, links.Tokens)
	case err != nil:
		return err
	case made == nil:
		return p.tokenFormPage(c, who, http.StatusUnprocessableEntity, sheet)
	}
	return p.tokensPage(c, who, http.StatusOK, made, issuerFields.Read(url.Values{}))
}

// issueToken makes the token that a form describes. nil without an error means
// that the form needs another look; the sheet says why.
func (p *tokenPages) issueToken(c echo.Context, who tenancy.Principal, sheet *tokenFormData) (*view.MadeToken, error) {
	in, err := tokenFields.Value(sheet.form)
	var plain string
	if err == nil {
		plain, err = p.Accounts.Tokens.Issue(c.Request().Context(), who, in)
	}
	if err != nil {
		return nil, tokenFields.Refuse(&sheet.form, err)
	}
	ends := ui.Text("It does not end by itself.")
	if in.ExpiresAt != nil {
		ends = ui.Say(ui.T("It ends on "), ui.Moment(ui.Date(*in.ExpiresAt)), ui.T("."))
	}
	return &view.MadeToken{Name: in.Name, Token: plain, Ends: ends, Enrolment: in.Kind == tenancy.KindEnrolment}, nil
}

// madeBefore answers a form that was sent again.
func (p *tokenPages) madeBefore(c echo.Context, path string) error {
	p.SetFlash(c, ui.Toast{Tone: ui.Warn, Title: "This form has made its token already",
		Text: "It was shown then and cannot be shown again. If it was not copied, revoke it and make another."})
	return web.SeeOther(c, path)
}

// tokenRevoke ends a token, and with cut_off the agents of an enrolment token.
func (p *tokenPages) tokenRevoke(c echo.Context, who tenancy.Principal) error {
	id, ok := ids.Parse(c.Param("id"))
	if !ok {
		return fault.New(fault.NotFound, "There is no such token.")
	}
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := p.Accounts.Tokens.Revoke(ctx, who, id); err != nil {
		return err
	}
	t := ui.Toast{Tone: ui.OK, Title: "The token was revoked", Text: "Nothing is let in with it any more."}
	if in.Get("cut_off") == "1" && who.Can(tenancy.RunFleet) {
		n, err := p.Dispatch.CutOffEnrolled(ctx, who, id, "Its enrolment token was revoked.")
		if err != nil {
			return err
		}
		t.Text = "Nothing is let in with it any more. " + web.Plural(n, "agent was", "agents were") + " cut off."
	}
	p.SetFlash(c, t)
	return web.SeeOther(c, links.Tokens)
}
