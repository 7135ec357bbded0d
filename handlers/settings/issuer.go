package settings

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/issuers"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// namedRule is an issuer to be trusted.
type namedRule struct {
	name string
	issuers.Rule
}

// issuerFields are the form that trusts an issuer.
var issuerFields = form.Table[namedRule]{
	form.Line("issuer", "Name", issuers.MaxName, func(r *namedRule) *string { return &r.name }),
	form.Line("url", "Issuer", issuers.MaxIssuer, func(r *namedRule) *string { return &r.Issuer }),
	form.Line("audience", "Audience", issuers.MaxAudience, func(r *namedRule) *string { return &r.Audience }),
	form.WriteOnly("claims", "Claims", 4000, setClaims),
	form.Commas("capabilities", "Capabilities", 4000, func(r *namedRule) *[]string { return &r.Scope.Capabilities }).Note("empty is all"),
	form.Line("factory", "Factory", jobs.MaxName, func(r *namedRule) *string { return &r.Scope.Factory }).Note("empty is any"),
}

// setClaims takes claims as they are written: name=value, with commas between.
func setClaims(r *namedRule, text string) string {
	for one := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(one), "=")
		if !ok {
			return "Write each as name=value, with commas between."
		}
		r.Claims = append(r.Claims, issuers.Claim{Name: name, Value: value})
	}
	return ""
}

// issuerTrust trusts an issuer, or shows the form again.
func (p *tokenPages) issuerTrust(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	sheet := issuerFields.Read(in)
	rule, err := issuerFields.Value(sheet)
	if err == nil {
		_, _, err = p.Accounts.Issuers.Put(c.Request().Context(), who, rule.name, rule.Rule)
	}
	if err != nil {
		if err := issuerFields.Refuse(&sheet, err); err != nil {
			return err
		}
		return p.tokensPage(c, who, http.StatusUnprocessableEntity, nil, sheet)
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: rule.name + " is trusted", Text: "Give its id to the pods and runners."})
	return web.SeeOther(c, links.Tokens+"#issuers")
}

// issuerRemove trusts an issuer no longer.
func (p *tokenPages) issuerRemove(c echo.Context, who tenancy.Principal) error {
	name := c.Param("issuer")
	if err := p.Accounts.Issuers.Delete(c.Request().Context(), who, name); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: name + " is trusted no longer", Text: "Its agents are cut off."})
	return web.SeeOther(c, links.Tokens+"#issuers")
}

func issuerModels(list []issuers.Issuer) []view.TrustedIssuer {
	all := make([]view.TrustedIssuer, 0, len(list))
	for _, i := range list {
		m := view.TrustedIssuer{Name: i.Name, ID: i.ID.String(), URL: i.Issuer, Audience: i.Audience, Limits: listLimits(i.Scope),
			Live: i.Live, RemoveURL: links.IssuerRemove(i.Name)}
		for _, c := range i.Claims {
			m.Claims = append(m.Claims, c.Name+"="+c.Value)
		}
		if i.LastUsedAt != nil {
			m.Used = ui.Ago(*i.LastUsedAt, i.Now)
		}
		all = append(all, m)
	}
	return all
}
