package prices

import (
	"context"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/prices"
	"github.com/fleetboard/fleetboard/views/ui"
)

// decide takes what a person says of a model without a price: what it counts as, with or
// without its provider before a slash, or that it passes. The question is in Needs you.
func (p *pages) decide(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	u := prices.Unpriced{Model: prices.Model{Name: typed.Get("model")}, Decision: prices.Decision(typed.Get("decision"))}
	if u.Decision == prices.Count {
		u.As.Name = strings.TrimSpace(typed.Get("counts_as"))
		if provider, name, named := strings.Cut(u.As.Name, "/"); named {
			u.As = prices.Model{Provider: provider, Name: name}
		}
	}
	said := ui.Toast{Tone: ui.OK, Title: u.Name + " passes without a price", Text: "Agents with this model get jobs again."}
	if u.Decision == prices.Count {
		said.Title = u.Name + " counts as " + u.As.Name
		said.Text = "Agents with this model get jobs again, and what it was used for is priced within a minute."
	}
	if _, err := p.Prices.Decide(c.Request().Context(), who, u); err != nil {
		refused := fault.From(err)
		if refused.Code != fault.Validation {
			return err
		}
		said = ui.Toast{Tone: ui.Bad, Title: "Nothing was decided on " + u.Name}
		said.Text = refused.Fields[refused.Names()[0]]
	}
	p.SetFlash(c, said)
	return web.SeeOther(c, links.NeedsYou)
}

// models returns the models without a price on which somebody has decided.
func (p *pages) models(ctx context.Context, who tenancy.Principal) ([]view.Model, error) {
	list, err := p.Prices.Models(ctx, who)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(u prices.Unpriced) bool { return u.Decision == prices.Undecided })
	shown := make([]view.Model, len(list))
	for i, u := range list {
		shown[i] = view.Model{Name: u.Name, Says: "passes without a price", By: u.DecidedBy, At: u.DecidedAt.UTC().Format("2 Jan 2006")}
		if u.Decision == prices.Count {
			shown[i].Says = "counts as " + u.As.Name
		}
	}
	return shown, nil
}
