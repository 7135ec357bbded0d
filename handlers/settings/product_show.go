package settings

import (
	"context"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
)

// productsShow lists the products with what they allow.
func (p *productPages) productsShow(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	list, err := p.Jobs.Products(ctx, who)
	if err != nil {
		return err
	}
	sheet := productPageData{list: list, canManage: who.Can(tenancy.Manage)}
	if sheet.inReview, err = p.inReview(ctx, who); err != nil {
		return err
	}
	snap, err := p.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	shell, err := p.Page(c, who, snap, layout.SectionSettings, "Products")
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.ProductsView(view.ProductsPage{Shell: shell, Products: sheet.model()}))
}

// inReview counts the jobs in review of each product, those of one page of the
// queue: the oldest ones.
func (p *productPages) inReview(ctx context.Context, who tenancy.Principal) (reviewLoad, error) {
	queue, err := p.Screens.ReviewQueue(ctx, who, "")
	if err != nil {
		return reviewLoad{}, err
	}
	load := reviewLoad{jobs: map[string]int{}, more: queue.Next != ""}
	for _, job := range queue.InReview {
		load.jobs[job.Product]++
	}
	return load, nil
}

// productNew answers with the empty form.
func (p *productPages) productNew(c echo.Context, who tenancy.Principal) error {
	return p.productPage(c, who, http.StatusOK, productFormData{form: productFields.Read(nil)})
}

// productShow answers with the form of one product.
func (p *productPages) productShow(c echo.Context, who tenancy.Principal) error {
	product, err := p.Jobs.Product(c.Request().Context(), who, productName(c))
	if err != nil {
		return err
	}
	sheet := productFormData{product: &product, form: fillProduct(product)}
	if c.QueryParam("preview") != "" {
		if sheet.preview, err = p.preview(c.Request().Context(), who, product.Name, product.AutoApprove); err != nil {
			return err
		}
	}
	return p.productPage(c, who, http.StatusOK, sheet)
}

// productName returns the one that the address names. A name with a slash is escaped
// there, and the router leaves it so.
func productName(c echo.Context) string {
	name, err := url.PathUnescape(c.Param("product"))
	if err != nil {
		return c.Param("product")
	}
	return name
}

// productPage shows the form.
func (p *productPages) productPage(c echo.Context, who tenancy.Principal, status int, sheet productFormData) error {
	ctx := c.Request().Context()
	var err error
	title := "New product"
	if sheet.product != nil {
		title = sheet.product.Name
		if sheet.inReview, err = p.inReview(ctx, who); err != nil {
			return err
		}
	}
	snap, err := p.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	shell, err := p.Page(c, who, snap, layout.SectionSettings, title)
	if err != nil {
		return err
	}
	if c.Request().Method != http.MethodGet {
		// Where the theme's form may come back to: a refused form has no address.
		shell.Path = sheet.address()
	}
	return web.Render(c, status, view.ProductView(view.ProductPage{Shell: shell, Form: sheet.model()}))
}

// address returns the page that the form belongs to.
func (s productFormData) address() string {
	if s.product == nil {
		return links.NewProduct
	}
	return links.Product(s.product.Name)
}
