package stop_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestStopAndRelease(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/stop"), http.StatusOK), "#stops", "Nothing is stopped")
	handlertest.WantRedirect(t, d.Post("/stop", url.Values{"product": {""}, "hold": {"all"}, "reason": {"nonsense <b>"}}), "/stop")
	doc := handlertest.Page(t, d.Get("/board"), http.StatusOK)
	handlertest.WantText(t, doc, "#stopped", "The whole fleet is stopped")
	handlertest.WantText(t, doc, "#stopped", "nonsense <b>")
	doc = handlertest.Page(t, d.Get("/stop"), http.StatusOK)
	handlertest.WantText(t, doc, "#stop-fleet", "running ones are paused")
	handlertest.WantRedirect(t, d.Post("/stop/release", url.Values{"product": {""}}), "/stop")
	doc = handlertest.Page(t, d.Get("/stop"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "All goes on")
	handlertest.WantCount(t, doc, "#stopped .note", 0)
}

// A product may be called anything, also as other parts of the page are.
func TestProductsOfAnyName(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	for _, name := range []string{"form", "fleet", "team/shop", "a.b@c"} {
		d.Product(name, jobs.ProductSettings{})
		handlertest.WantRedirect(t, d.Post("/stop", url.Values{"product": {name}, "hold": {"claims"}, "reason": {"why"}}), "/stop")
	}
	handlertest.WantRedirect(t, d.Post("/stop", url.Values{"product": {""}, "hold": {"claims"}, "reason": {"why"}}), "/stop")
	doc := handlertest.Page(t, d.Get("/stop"), http.StatusOK)
	handlertest.WantCount(t, doc, "#stops > [id]", 5)
	doc.Find("[id]").Each(func(_ int, e *goquery.Selection) {
		id := e.AttrOr("id", "")
		if n := doc.Find("[id='" + id + "']").Length(); n != 1 || strings.ContainsAny(id, " /") {
			t.Errorf("%d elements have the id %q", n, id)
		}
	})
	handlertest.WantRedirect(t, d.Post("/stop/release", url.Values{"product": {"a.b@c"}}), "/stop")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/stop"), http.StatusOK), "#stops > [id]", 4)
}

func TestARefusedStopKeepsWhatWasTyped(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Post("/stop", url.Values{"product": {""}, "hold": {"all"}, "reason": {" "}}), http.StatusUnprocessableEntity)
	handlertest.WantCount(t, doc, "#reason-e, #hold option[value=all][selected]", 2)
	doc = handlertest.Page(t, d.Post("/stop", url.Values{"product": {"nope"}, "hold": {"claims"}, "reason": {"why"}}), http.StatusUnprocessableEntity)
	handlertest.WantCount(t, doc, "#product-e, #reason[value=why]", 2)
	doc = handlertest.Page(t, d.Post("/stop", url.Values{"hold": {"everything"}, "reason": {"why"}}), http.StatusUnprocessableEntity)
	handlertest.WantCount(t, doc, "#hold-e", 1)
}

func TestOnlyManagersStop(t *testing.T) {
	member := handlertest.NewWorkspace(t).As(tenancy.RoleMember)
	handlertest.WantCount(t, handlertest.Page(t, member.Get("/stop"), http.StatusOK), "#stop-form", 0)
	handlertest.WantStatus(t, member.Post("/stop", url.Values{"hold": {"all"}, "reason": {"x"}}), http.StatusForbidden)
	handlertest.WantStatus(t, member.Post("/stop/release", nil), http.StatusForbidden)
}
