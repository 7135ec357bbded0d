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
	sheet := productFormData{form: productFields.Read(in)}
	product, err := productFields.Value(sheet.form)
	switch there, missing := p.Jobs.Product(c.Request().Context(), who, product.name); {
	case product.name == "":
		sheet.form.Errors["name"] = "A product must have a name."
	case fault.Is(missing, fault.NotFound):
	case missing != nil:
		return missing
	case there.Paused || len(productChanges(there, product.ProductSettings)) > 0:
		sheet.form.Errors["name"] = "There is a product " + there.Name + " already. Its settings are on its own page."
	}
	return p.productSave(c, who, sheet, product, err)
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
	sheet := productFormData{product: &product, form: productFields.Read(in)}
	change, err := productFields.Value(sheet.form)
	change.name, change.Paused = product.Name, product.Paused
	for engine, models := range otherModels(product.Models) {
		change.Models[engine] = models
	}
	isUnseen := change.AutoApprove.Enabled && !product.AutoApprove.Enabled && in.Get("auto_seen") == ""
	if err == nil && len(sheet.form.Errors) == 0 && isUnseen {
		sheet.preview, err = p.preview(c.Request().Context(), who, product.Name, change.AutoApprove)
		if err == nil {
			sheet.form.Error = seeFirst
			return p.productPage(c, who, http.StatusUnprocessableEntity, sheet)
		}
	}
	return p.productSave(c, who, sheet, change, err)
}

// productSave saves, and goes to the list with a toast that says what changed,
// or shows the refused form with all that was typed. wrong is what is wrong with the form.
func (p *productPages) productSave(c echo.Context, who tenancy.Principal, sheet productFormData, in productInput, wrong error) error {
	made := false
	if wrong == nil && len(sheet.form.Errors) == 0 {
		_, made, wrong = p.Jobs.PutProduct(c.Request().Context(), who, in.name, in.ProductSettings)
	}
	if wrong != nil {
		if err := refuseProduct(&sheet.form, wrong); err != nil {
			return err
		}
	}
	if wrong != nil || len(sheet.form.Errors) > 0 {
		return p.productPage(c, who, http.StatusUnprocessableEntity, sheet)
	}
	before := jobs.Product{}
	if sheet.product != nil {
		before = *sheet.product
	}
	p.SetFlash(c, savedToast(in.name, made || sheet.product == nil, productChanges(before, in.ProductSettings)))
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
	p.SetFlash(c, t)
	return web.SeeOther(c, web.BackTo(c, links.Products))
}

// productDelete takes a product away, or says why it stays.
func (p *productPages) productDelete(c echo.Context, who tenancy.Principal) error {
	name := productName(c)
	err := p.Jobs.DeleteProduct(c.Request().Context(), who, name)
	switch f := fault.From(err); {
	case err == nil:
		p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: name + " was deleted", Text: "Its repos belong to no product now."})
	case f.Code == fault.InUse:
		p.SetFlash(c, ui.Toast{Tone: ui.Bad, Title: name + " was not deleted", Text: f.Message})
		return web.SeeOther(c, links.Product(name))
	default:
		return err
	}
	return web.SeeOther(c, links.Products)
}
