package settings_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// What was refused stands beside its field with what was typed; what is saved is shown again.
func TestNotificationsAreSaved(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/settings/notifications"), http.StatusOK)
	handlertest.WantCount(t, doc, "#on_review[checked]", 1)
	handlertest.WantCount(t, doc, "#email[checked], #browser[checked], #webhook[checked]", 0)
	handlertest.WantText(t, doc, "#email-h", "FLEETBOARD_SMTP_URL")
	handlertest.WantText(t, doc, "#no-browsers", "No browser shows your messages yet.")
	doc = handlertest.Page(t, d.Post("/settings/notifications", url.Values{"webhook": {"1"}, "webhook_url": {"ftp://x"}, "on_failed": {"1"},
		"quiet_from": {"26:00"}, "quiet_to": {"07:00"}, "timezone": {"Mars/Base"}, "digest_minutes": {"x"}, "escalate_minutes": {"5"}}),
		http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#digest_minutes-e", "number")
	handlertest.WantCount(t, doc, `#webhook[checked], #on_failed[checked], #webhook_url[value="ftp://x"]`, 3)
	in := url.Values{"webhook": {"1"}, "webhook_url": {"https://hooks.example.com/secret"}, "on_failed": {"1"}, "quiet_from": {"22:00"},
		"quiet_to": {"07:00"}, "timezone": {"Europe/Berlin"}, "digest_minutes": {"10"}, "escalate_minutes": {"0"}}
	handlertest.WantRedirect(t, d.Post("/settings/notifications", in), "/settings/notifications")
	doc = handlertest.Page(t, d.Get("/settings/notifications"), http.StatusOK)
	handlertest.WantCount(t, doc, `#webhook[checked], #on_failed[checked], #quiet_from[value="22:00"], #timezone[value="Europe/Berlin"]`, 4)
	handlertest.WantCount(t, doc, "#on_review[checked]", 0)
	handlertest.WantText(t, doc, "#webhook-secret", "whsec_")
	// The log says who changed what, and of the webhook only where it leads.
	log := dbfactory.Text(t, d.DB, `SELECT changes::text FROM event WHERE type = 'notifications.changed'`)
	if !strings.Contains(log, "https://hooks.example.com") || strings.Contains(log, "hooks.example.com/secret") {
		t.Error("the log does not say where the webhook leads, or says its path")
	}
	other := handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/settings/notifications"), http.StatusOK)
	handlertest.WantCount(t, other, "#webhook[checked], #webhook-secret", 0)
	handlertest.WantText(t, other, "#on_review-h", "Your role does not decide on it.")
}

// The service worker stands at the root, may load nothing, and is looked up anew.
func TestThePushWorkerIsServedAtTheRoot(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	res := d.Get("/push-worker.js")
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/javascript; charset=utf-8" ||
		res.Header.Get("Content-Security-Policy") != "default-src 'none'" || res.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
}
