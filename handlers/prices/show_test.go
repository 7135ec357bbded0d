package prices_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The questions about models without a price are tested in handlers/explained_budget_test.go.

func validPrice() url.Values {
	return url.Values{"provider": {"house"}, "model": {"house-1"}, "valid_from": {"2026-11-01"}, "input": {"$1.25"}, "cache_read": {"0"},
		"cache_write": {"0"}, "cache_write_1h": {"0"}, "output": {"2.5"}, "batch_factor": {"0.25"}, "source": {"the contract"}}
}

func TestPricesAreShown(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/prices?provider=house&model=house-1"), http.StatusOK)
	handlertest.WantCount(t, doc, "#provider[value=house], #model[value=house-1]", 2)
	handlertest.WantText(t, doc, "#own", "None yet")
	handlertest.WantText(t, doc, "#builtin", "claude")
	handlertest.WantText(t, doc, "#builtin tbody", "× 0.5")
}

func TestARefusedPriceKeepsWhatWasTyped(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	for _, c := range []struct{ field, text string }{
		{"input", "much"}, {"valid_from", "soon"}, {"model", "a*b*"}, {"batch_factor", "half"},
	} {
		in := validPrice()
		in.Set(c.field, c.text)
		doc := handlertest.Page(t, d.Post("/prices", in), http.StatusUnprocessableEntity)
		handlertest.WantCount(t, doc, "#"+c.field+"-e", 1)
		handlertest.WantCount(t, doc, "#"+c.field+"[value='"+c.text+"'][aria-invalid], #source[value='the contract']", 2)
		handlertest.WantCount(t, doc, "#price-form [aria-invalid]", 1)
	}
}

func TestAPriceIsAdded(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	handlertest.WantRedirect(t, d.Post("/prices", validPrice()), "/prices")
	doc := handlertest.Page(t, d.Get("/prices"), http.StatusOK)
	handlertest.WantText(t, doc, "#own tbody", "$1.25")
	handlertest.WantText(t, doc, "#own tbody", "× 0.25")
	handlertest.WantText(t, doc, "#toasts", "The price of house-1 was added")
}

func TestAViewerAddsNoPrice(t *testing.T) {
	viewer := handlertest.NewWorkspace(t).As(tenancy.RoleViewer)
	handlertest.WantCount(t, handlertest.Page(t, viewer.Get("/prices"), http.StatusOK), "#price-form", 0)
	handlertest.WantStatus(t, viewer.Post("/prices", validPrice()), http.StatusForbidden)
}
