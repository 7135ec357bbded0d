package settings_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// newWebhook returns the form of a webhook as the page sends it.
func newWebhook(address string) url.Values {
	return url.Values{"url": {address}, "types": {"job.*, budget.*"}, "form_key": {ids.New().String()}}
}

// secretOn returns the secret that a page shows.
func secretOn(t *testing.T, doc *goquery.Document) string {
	t.Helper()
	secret := strings.TrimSpace(doc.Find("#new-secret pre").Text())
	if !strings.HasPrefix(secret, "whsec_") {
		t.Fatalf("the page shows the secret %q", secret)
	}
	return secret
}

// A webhook from its form to its end: its secret is shown once, and again only where a new one is made.
func TestAWebhookOnItsPages(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/settings/webhooks"), http.StatusOK)
	handlertest.WantText(t, doc, ".empty", "There is no webhook")
	handlertest.Page(t, d.Get("/settings/webhooks/new"), http.StatusOK)

	in := newWebhook("https://93.184.215.14/secret-path?key=1")
	doc = handlertest.Page(t, d.Post("/settings/webhooks", in), http.StatusOK)
	secret := secretOn(t, doc)
	id := dbfactory.Text(t, d.DB, "SELECT id::text FROM webhook")
	page := "/settings/webhooks/" + id
	handlertest.WantRedirect(t, d.Post("/settings/webhooks", in), page) // as a reload does
	doc = handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "has made its secret already")
	handlertest.WantText(t, doc, "#webhook", "https://93.184.215.14/secret-path?key=1")
	handlertest.WantText(t, doc, "#webhook", "budget.*job.*")
	handlertest.WantText(t, doc, "#deliveries", "There is no delivery")
	doc = handlertest.Page(t, d.Get("/settings/webhooks"), http.StatusOK)
	handlertest.WantCount(t, doc, "[data-webhook]", 1)
	if text := doc.Text(); strings.Contains(text, "secret-path") || strings.Contains(text, secret) {
		t.Error("the list shows a path or a secret")
	}

	handlertest.WantRedirect(t, d.Post(page+"/test", nil), page)
	doc = handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantCount(t, doc, "[data-delivery]", 1)
	handlertest.WantText(t, doc, "[data-delivery]", "webhook.test")
	delivery := doc.Find("[data-delivery]").AttrOr("data-delivery", "")
	handlertest.WantRedirect(t, d.Post(page+"/deliveries/"+delivery+"/redeliver", nil), page)
	handlertest.WantCount(t, handlertest.Page(t, d.Get(page+"?status=failed"), http.StatusOK), "[data-delivery]", 0)

	handlertest.WantRedirect(t, d.Post(page+"/pause", nil), page)
	handlertest.WantText(t, handlertest.Page(t, d.Get(page), http.StatusOK), "#webhook .pill", "Paused")
	handlertest.WantRedirect(t, d.Post(page+"/enable", url.Values{"skip": {"1"}}), page)
	handlertest.WantText(t, handlertest.Page(t, d.Get(page), http.StatusOK), "#webhook .pill", "Active")

	doc = handlertest.Page(t, d.Post(page+"/rotate", url.Values{"overlap": {"24"}, "form_key": {ids.New().String()}}), http.StatusOK)
	if secretOn(t, doc) == secret {
		t.Error("the new secret is the old one")
	}
	handlertest.WantText(t, doc, "#webhook", "Two sign until")

	doc = handlertest.Page(t, d.Get(page+"/edit"), http.StatusOK)
	version := doc.Find("#webhook-form [name=version]").AttrOr("value", "")
	edit := url.Values{"url": {"https://93.184.215.14/"}, "types": {""}, "version": {version}}
	handlertest.WantRedirect(t, d.Post(page, edit), page)
	handlertest.WantText(t, handlertest.Page(t, d.Post(page, edit), http.StatusUnprocessableEntity), "#webhook-form", "Somebody else has changed")
	handlertest.WantRedirect(t, d.Post(page+"/delete", nil), "/settings/webhooks")
	handlertest.WantStatus(t, d.Get(page), http.StatusNotFound)
	if strings.Contains(d.LogText.String(), secret) {
		t.Error("the secret is in the log")
	}
}

// A refused form keeps its text and says at the field what is wrong.
func TestARefusedWebhookFormKeepsItsText(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	for field, in := range map[string]url.Values{
		"url": newWebhook("http://127.0.0.1/mine"), "types": {"url": {"https://93.184.215.14/mine"}, "types": {"job.unheard"}},
		"products": {"url": {"https://93.184.215.14/mine"}, "products": {"none"}},
	} {
		doc := handlertest.Page(t, d.Post("/settings/webhooks", in), http.StatusUnprocessableEntity)
		if doc.Find("#"+field+"-e").Text() == "" {
			t.Errorf("there is no error at %s", field)
		}
		if got := doc.Find("#url").AttrOr("value", ""); got != in.Get("url") {
			t.Errorf("the address is %q", got)
		}
	}
}

// A webhook that the server has disabled waits for a person, who enables it.
func TestADisabledWebhookNeedsAPerson(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	handlertest.Page(t, d.Post("/settings/webhooks", newWebhook("https://93.184.215.14/path")), http.StatusOK)
	dbfactory.Exec(t, d.DB, "UPDATE webhook SET state = 'disabled', disabled_reason = 'gone', disabled_at = now()")
	id := dbfactory.Text(t, d.DB, "SELECT id::text FROM webhook")
	doc := handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
	handlertest.WantText(t, doc, "#needs-count", "1 disabled webhook")
	handlertest.WantText(t, doc, "#need-webhook-"+id, "https://93.184.215.14/… gets no events any more")
	handlertest.WantCount(t, doc, "#need-webhook-"+id+" a[href='/settings/webhooks/"+id+"']", 2)
	handlertest.WantText(t, doc, "#nav-needs-n", "1 wait")
	viewer := handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/needs-you"), http.StatusOK)
	handlertest.WantCount(t, viewer, "#need-webhook-"+id+" a", 0)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/webhooks/"+id), http.StatusOK), "#webhook-why", "410")
	handlertest.WantRedirect(t, d.Post("/settings/webhooks/"+id+"/enable", nil), "/settings/webhooks/"+id)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/needs-you"), http.StatusOK), ".empty", "Nothing needs you")
}
