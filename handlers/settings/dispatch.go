package settings

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// dispatchShow answers with the form of how jobs are given out.
func (p *dispatchPages) dispatchShow(c echo.Context, who tenancy.Principal) error {
	present, err := p.Dispatch.DispatchSettings(c.Request().Context(), who)
	if err != nil {
		return err
	}
	products, err := p.Jobs.Products(c.Request().Context(), who)
	if err != nil {
		return err
	}
	return p.dispatchPage(c, who, http.StatusOK, products, dispatchFields(products).Fill(dispatchInput(present)))
}

// dispatchChange saves the form, or shows it with what was refused.
func (p *dispatchPages) dispatchChange(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	products, err := p.Jobs.Products(c.Request().Context(), who)
	if err != nil {
		return err
	}
	fields := dispatchFields(products)
	f := fields.Read(typed)
	in, err := fields.Value(f)
	if err == nil {
		_, err = p.Dispatch.ChangeDispatch(c.Request().Context(), who, in)
	}
	if err == nil {
		p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "Dispatch was saved", Text: "It holds from the next claim on."})
		return web.SeeOther(c, links.Dispatch)
	}
	if err := fields.Refuse(&f, err); err != nil {
		return err
	}
	return p.dispatchPage(c, who, http.StatusUnprocessableEntity, products, f)
}

func (p *dispatchPages) dispatchPage(c echo.Context, who tenancy.Principal, status int, products []jobs.Product, f ui.Form) error {
	shell, err := p.shell(c, who, "Dispatch", links.Dispatch)
	if err != nil {
		return err
	}
	m := view.DispatchPage{Shell: shell, Form: f,
		ChangesURL: links.TimelineWith(links.TimelineFilter{Groups: []string{"settings"}})}
	for _, mode := range setting.Modes {
		m.Modes = append(m.Modes, ui.Option{Value: string(mode), Label: string(mode)})
	}
	for _, product := range products {
		m.Products = append(m.Products, view.DispatchProduct{Name: product.Name, Field: weightField(product.Name)})
	}
	return web.Render(c, status, view.DispatchView(m))
}

// weightField is the field of a product's weight.
func weightField(product string) string { return "weight-" + url.PathEscape(product) }

// dispatchInput returns the settings as a change of all that the form has.
func dispatchInput(s setting.Settings) setting.Change {
	return setting.Change{Mode: &s.Mode, AgeingMinutes: &s.AgeingMinutes, PreemptGap: &s.PreemptGap, ProductWeights: s.ProductWeights,
		ShortJobsFirst: &s.ShortJobsFirst}
}

// dispatchFields are the form for a workspace with these products.
func dispatchFields(products []jobs.Product) form.Table[setting.Change] {
	fields := form.Table[setting.Change]{modeField()}
	for _, product := range products {
		fields = append(fields, productWeight(product.Name))
	}
	return append(fields, shortJobsField(), form.Number("ageing_minutes", "Raise after", 0, setting.MaxAgeingMinutes,
		func(c *setting.Change) **int { return &c.AgeingMinutes }).WithKind(ui.KindWhole).Note("minutes; 0 is never"),
		form.Number("preempt_gap", "More urgent by", 0, jobs.MaxPriority,
			func(c *setting.Change) **int { return &c.PreemptGap }).WithKind(ui.KindWhole).Note("priorities; 0 is never"))
}

// shortJobsField is a box to tick.
func shortJobsField() form.Field[setting.Change] {
	return form.Custom("short_jobs_first", "Short jobs first", 0,
		func(c *setting.Change) string {
			if c.ShortJobsFirst == nil || !*c.ShortJobsFirst {
				return ""
			}
			return "1"
		},
		func(c *setting.Change, text string) string {
			yes := text != ""
			c.ShortJobsFirst = &yes
			return ""
		})
}

// modeField is the choice of who decides; without a value it stays.
func modeField() form.Field[setting.Change] {
	return form.Custom("mode", "Who decides", 0,
		func(c *setting.Change) string {
			if c.Mode == nil {
				return ""
			}
			return string(*c.Mode)
		},
		func(c *setting.Change, text string) string {
			if mode := setting.Mode(text); text != "" {
				c.Mode = &mode
			}
			return ""
		})
}

// productWeight is the field of a product's weight; empty is 1.
func productWeight(product string) form.Field[setting.Change] {
	name := weightField(product)
	f := form.Custom(name, "Weight of "+product, 0,
		func(c *setting.Change) string { return strconv.Itoa(cmp.Or(c.ProductWeights[product], 1)) },
		func(c *setting.Change, text string) string {
			wrong := map[string]string{}
			n := web.NumberChoice(name, text, 1, setting.MaxProductWeight, wrong)
			if c.ProductWeights == nil {
				c.ProductWeights = map[string]int{}
			}
			if c.ProductWeights[product] = 1; n != nil {
				c.ProductWeights[product] = *n
			}
			return wrong[name]
		}).WithKind(ui.KindNumber).Also("product_weights." + product)
	f.Low, f.High = 1, setting.MaxProductWeight
	return f
}
