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

// decide saves what a person decides on a model without a price: what it counts as, with or
// without its provider before a slash, or that it passes. The question is in Needs you.
func (p *site) decide(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	d := prices.ModelDecision{Model: prices.Model{Name: typed.Get("model")}, Decision: prices.Decision(typed.Get("decision"))}
	toast := ui.Toast{Tone: ui.OK, Title: d.Name + " passes without a price", Text: "Agents with this model get jobs again."}
	if d.Decision == prices.Count {
		d.As = parseModel(typed.Get("counts_as"))
		toast.Title = d.Name + " counts as " + d.As.String()
		toast.Text = "Agents with this model get jobs again, and what it was used for is priced within a minute."
	}
	if _, err := p.Prices.Decide(c.Request().Context(), who, d); err != nil {
		if !fault.Is(err, fault.Validation) {
			return err
		}
		toast = ui.Toast{Tone: ui.Bad, Title: "Nothing was decided on " + d.Name, Text: web.FieldText(err)}
	}
	p.SetFlash(c, toast)
	return web.SeeOther(c, links.NeedsYou)
}

// parseModel reads provider/name, or a name alone.
func parseModel(text string) prices.Model {
	text = strings.TrimSpace(text)
	if provider, name, found := strings.Cut(text, "/"); found {
		return prices.Model{Provider: provider, Name: name}
	}
	return prices.Model{Name: text}
}

// decided returns the models without a price on which somebody has decided.
func (p *site) decided(ctx context.Context, who tenancy.Principal) ([]view.Model, error) {
	list, err := p.Prices.Models(ctx, who)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(u prices.Unpriced) bool { return u.Decision == prices.Undecided })
	shown := make([]view.Model, len(list))
	for i, u := range list {
		shown[i] = view.Model{Name: u.Name, Says: "passes without a price", By: u.DecidedBy, At: ui.Date(*u.DecidedAt)}
		if u.Decision == prices.Count {
			shown[i].Says = "counts as " + u.As.String()
		}
	}
	return shown, nil
}
