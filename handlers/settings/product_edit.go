package settings

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// productCreate makes a product. The same form sent twice makes one; a name that
// another product has is refused, for the form would replace its settings.
func (p *productPages) productCreate(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	sheet := productFormData{form: parseProductForm(in)}
	settings, wrong := sheet.form.settings(false)
	switch there, err := p.Jobs.Product(c.Request().Context(), who, sheet.form.name); {
	case sheet.form.name == "":
		wrong["name"] = "A product must have a name."
	case fault.Is(err, fault.NotFound):
	case err != nil:
		return err
	case there.Paused || len(productChanges(there, settings)) > 0:
		wrong["name"] = "There is a product " + there.Name + " already. Its settings are on its own page."
	}
	return p.productSave(c, who, sheet, sheet.form.name, jobs.Product{}, settings, wrong)
}

// productUpdate replaces the settings of a product that is there. Whether it is
// paused stays as it is: that has a button of its own.
func (p *productPages) productUpdate(c echo.Context, who tenancy.Principal) error {
	product, err := p.Jobs.Product(c.Request().Context(), who, productName(c))
	if err != nil {
		return err
	}
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	sheet := productFormData{product: &product, form: parseProductForm(in)}
	settings, wrong := sheet.form.settings(product.Paused)
	return p.productSave(c, who, sheet, product.Name, product, settings, wrong)
}

// productSave saves, and goes to the list with a toast that says what changed,
// or shows the refused form with all that was typed.
func (p *productPages) productSave(c echo.Context, who tenancy.Principal, sheet productFormData, name string,
	before jobs.Product, in jobs.ProductSettings, wrong map[string]string) error {
	made := false
	if len(wrong) == 0 {
		var err error
		if _, made, err = p.Jobs.PutProduct(c.Request().Context(), who, name, in); err != nil {
			if !fault.Is(err, fault.Validation) {
				return err
			}
			wrong, sheet.rest = sheet.form.fieldErrors(err)
		}
	}
	if len(wrong) > 0 || sheet.rest != "" {
		sheet.wrong = wrong
		return p.productPage(c, who, http.StatusUnprocessableEntity, sheet)
	}
	p.Web.SetFlash(c, savedToast(name, made || sheet.product == nil, productChanges(before, in)))
	return web.SeeOther(c, links.Products)
}

// productPause stops the claims of a product's jobs.
func (p *productPages) productPause(c echo.Context, who tenancy.Principal) error {
	return p.setProductPaused(c, who, true)
}

// productResume lets its jobs be claimed again.
func (p *productPages) productResume(c echo.Context, who tenancy.Principal) error {
	return p.setProductPaused(c, who, false)
}

func (p *productPages) setProductPaused(c echo.Context, who tenancy.Principal, paused bool) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	product, err := p.Jobs.PauseProduct(c.Request().Context(), who, productName(c), paused, strings.TrimSpace(in.Get("reason")))
	if fault.Is(err, fault.Validation) {
		return web.Sentence(err)
	}
	if err != nil {
		return err
	}
	t := ui.Toast{Tone: ui.OK, Title: product.Name + " goes on", Text: "Agents get its jobs again."}
	if paused {
		t.Title, t.Text = product.Name+" is paused", "Agents get no new jobs of it; what they work on goes on."
	}
	p.Web.SetFlash(c, t)
	return web.SeeOther(c, web.BackTo(c, links.Products))
}

// productDelete takes a product away, or says why it stays.
func (p *productPages) productDelete(c echo.Context, who tenancy.Principal) error {
	name := productName(c)
	err := p.Jobs.DeleteProduct(c.Request().Context(), who, name)
	switch f := fault.From(err); {
	case err == nil:
		p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: name + " was deleted", Text: "Its repos belong to no product now."})
	case f.Code == fault.InUse:
		p.Web.SetFlash(c, ui.Toast{Tone: ui.Bad, Title: name + " was not deleted", Text: f.Message})
		return web.SeeOther(c, links.Product(name))
	default:
		return err
	}
	return web.SeeOther(c, links.Products)
}
