package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// productCreate makes a product. The same form sent twice makes one; a name that
// another product has is refused, for the form would replace its settings.
func (s *Server) productCreate(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	sheet := productFormSheet{form: parseProductForm(in)}
	settings, wrong := sheet.form.settings(false)
	switch there, err := s.Jobs.Product(c.Request().Context(), who, sheet.form.name); {
	case sheet.form.name == "":
		wrong["name"] = "A product must have a name."
	case fault.Is(err, fault.NotFound):
	case err != nil:
		return err
	case there.Paused || len(productChanges(there, settings)) > 0:
		wrong["name"] = "There is a product " + there.Name + " already. Its settings are on its own page."
	}
	return s.productSave(c, who, sheet, sheet.form.name, jobs.Product{}, settings, wrong)
}

// productUpdate replaces the settings of a product that is there. Whether it is
// paused stays as it is: that has a button of its own.
func (s *Server) productUpdate(c echo.Context, who tenancy.Principal) error {
	product, err := s.Jobs.Product(c.Request().Context(), who, productName(c))
	if err != nil {
		return err
	}
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	sheet := productFormSheet{product: &product, form: parseProductForm(in)}
	settings, wrong := sheet.form.settings(product.Paused)
	return s.productSave(c, who, sheet, product.Name, product, settings, wrong)
}

// productSave saves, and goes to the list with a toast that says what changed,
// or shows the refused form with all that was typed.
func (s *Server) productSave(c echo.Context, who tenancy.Principal, sheet productFormSheet, name string, before jobs.Product, in jobs.ProductSettings, wrong map[string]string) error {
	made := false
	if len(wrong) == 0 {
		var err error
		if _, made, err = s.Jobs.PutProduct(c.Request().Context(), who, name, in); err != nil {
			if !fault.Is(err, fault.Validation) {
				return err
			}
			wrong, sheet.rest = sheet.form.fieldErrors(err)
		}
	}
	if len(wrong) > 0 || sheet.rest != "" {
		sheet.wrong = wrong
		return s.productPage(c, who, http.StatusUnprocessableEntity, sheet)
	}
	s.Web.SetFlash(c, savedToast(name, made || sheet.product == nil, productChanges(before, in)))
	return web.SeeOther(c, links.Products)
}

// productPause stops the claims of a product's jobs.
func (s *Server) productPause(c echo.Context, who tenancy.Principal) error {
	return s.setProductPaused(c, who, true)
}

// productResume lets its jobs be claimed again.
func (s *Server) productResume(c echo.Context, who tenancy.Principal) error {
	return s.setProductPaused(c, who, false)
}

func (s *Server) setProductPaused(c echo.Context, who tenancy.Principal, paused bool) error {
	product, err := s.Jobs.PauseProduct(c.Request().Context(), who, productName(c), paused)
	if err != nil {
		return err
	}
	t := ui.Toast{Tone: ui.OK, Title: product.Name + " goes on", Text: "Agents get its jobs again."}
	if paused {
		t.Title, t.Text = product.Name+" is paused", "Agents get no new jobs of it; what they work on goes on."
	}
	s.Web.SetFlash(c, t)
	return web.SeeOther(c, web.BackTo(c, links.Products))
}

// productDelete takes a product away, or says why it stays.
func (s *Server) productDelete(c echo.Context, who tenancy.Principal) error {
	name := productName(c)
	err := s.Jobs.DeleteProduct(c.Request().Context(), who, name)
	switch f := fault.From(err); {
	case err == nil:
		s.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: name + " was deleted", Text: "Its repos belong to no product now."})
	case f.Code == fault.InUse:
		s.Web.SetFlash(c, ui.Toast{Tone: ui.Bad, Title: name + " was not deleted", Text: f.Message})
		return web.SeeOther(c, links.Product(name))
	default:
		return err
	}
	return web.SeeOther(c, links.Products)
}
