package prices_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Prices are shown to all, and added by those who manage the workspace; a refused form
// keeps what was typed.
func TestAddAPrice(t *testing.T) {
	d := handlertest.NewDesk(t)
	doc := handlertest.Page(t, d.Get("/prices?provider=house&model=house-1"), http.StatusOK)
	handlertest.WantCount(t, doc, "#provider[value=house], #model[value=house-1]", 2)
	handlertest.WantText(t, doc, "#own", "None yet")
	handlertest.WantText(t, doc, "#builtin", "claude")
	viewer := d.As(tenancy.RoleViewer)
	handlertest.WantCount(t, handlertest.Page(t, viewer.Get("/prices"), http.StatusOK), "#price-form", 0)

	in := url.Values{"provider": {"house"}, "model": {"house-1"}, "valid_from": {"2026-11-01"}, "input": {"much"}, "cache_read": {"0"},
		"cache_write": {"0"}, "cache_write_1h": {"0"}, "output": {"2.5"}, "source": {"the contract"}}
	doc = handlertest.Page(t, d.Post("/prices", in), http.StatusUnprocessableEntity)
	handlertest.WantCount(t, doc, "#input[value=much][aria-invalid], #input-e, #source[value='the contract']", 3)
	in.Set("input", "$1.25")
	in.Set("valid_from", "soon")
	handlertest.WantCount(t, handlertest.Page(t, d.Post("/prices", in), http.StatusUnprocessableEntity), "#valid_from-e", 1)
	in.Set("valid_from", "2026-11-01")
	in.Set("model", "a*b*")
	handlertest.WantCount(t, handlertest.Page(t, d.Post("/prices", in), http.StatusUnprocessableEntity), "#model-e", 1)
	in.Set("model", "house-1")
	in.Set("batch_factor", "half")
	doc = handlertest.Page(t, d.Post("/prices", in), http.StatusUnprocessableEntity)
	handlertest.WantCount(t, doc, "#batch_factor[value=half][aria-invalid], #batch_factor-e", 2)
	in.Set("batch_factor", "0.25")
	handlertest.WantRedirect(t, d.Post("/prices", in), "/prices")
	doc = handlertest.Page(t, d.Get("/prices"), http.StatusOK)
	handlertest.WantText(t, doc, "#own tbody", "$1.25")
	handlertest.WantText(t, doc, "#own tbody", "× 0.25")
	handlertest.WantText(t, doc, "#builtin tbody", "× 0.5")
	handlertest.WantText(t, doc, "#toasts", "The price of house-1 was added")
	handlertest.WantStatus(t, viewer.Post("/prices", in), http.StatusForbidden)
}
