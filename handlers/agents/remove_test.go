package agents_test

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Dead factories stand below the live ones, and only they can be removed.
func TestRemoveAFactory(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("adam")
	d.Agent("zoe")
	remove := "form[action='/factories/factory-of-adam/remove']"
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/agents"), http.StatusOK), "form[action$='/remove']", 0)
	handlertest.Read(t, d.Hx("/agents", "/factories/factory-of-adam/remove", nil), http.StatusConflict)
	handlertest.Read(t, d.Post("/agents/adam/terminate", nil), http.StatusSeeOther)

	doc := handlertest.Page(t, d.Get("/agents"), http.StatusOK)
	for list, rows := range map[string]string{"the page": "#agents-panel > section", "the sidebar": "#fleet .fleet-row"} {
		if n := doc.Find(rows).Length(); n != 2 || doc.Find(rows).First().Is("[id*=adam]") {
			t.Errorf("%s shows %d factories, the first is %s", list, n, doc.Find(rows).First().AttrOr("id", ""))
		}
	}
	handlertest.WantCount(t, doc, "form[action$='/remove']", 1)
	handlertest.WantText(t, doc, remove, "It leaves this page with 1 agent, and their tokens end.")
	handlertest.WantText(t, doc, remove, "registers anew")
	member := d.As(tenancy.RoleMember)
	handlertest.WantCount(t, handlertest.Page(t, member.Get("/agents"), http.StatusOK), remove, 0)
	handlertest.Read(t, member.Post("/factories/factory-of-adam/remove", nil), http.StatusForbidden)

	doc = handlertest.Page(t, d.Hx("/agents", "/factories/factory-of-adam/remove", nil), http.StatusOK)
	handlertest.WantCount(t, doc, "#agents-panel > section", 1)
	handlertest.WantText(t, doc, "body", "factory-of-adam was removed")
	handlertest.Read(t, d.Post("/factories/factory-of-adam/remove", nil), http.StatusNotFound)
	handlertest.WantText(t, d.Timeline("/timeline", 6), "#timeline", "factory-of-adam with 1 agent")
	d.Agent("adam")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/agents"), http.StatusOK), "#agents-panel > section", 2)
}
