package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// A webhook from its beginning to its end, by the calls.
func TestTheLifeOfAWebhook(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	made := w.as(w.owner, "POST", "/webhooks", object{"url": "https://93.184.215.14/a", "types": []string{"job.*", "job.*"}}).want(201)
	id, secret := made.text("webhook", "id"), made.text("secret")
	if !strings.HasPrefix(secret, "whsec_") || made.count("webhook", "types") != 1 || made.text("webhook", "state") != "active" {
		t.Errorf("made %s", made.raw)
	}
	path := "/webhooks/" + id
	listed := w.as(w.owner, "GET", "/webhooks", nil).want(200)
	if listed.count("items") != 1 || strings.Contains(string(listed.raw), secret[6:]) {
		t.Errorf("listed %s", listed.raw)
	}
	paused := w.as(w.owner, "PATCH", path, object{"version": 1, "state": "paused", "types": []string{"job.created"}}).want(200)
	if paused.text("state") != "paused" || paused.number("version") != 2 {
		t.Errorf("paused %s", paused.raw)
	}
	w.as(w.owner, "PATCH", path, object{"version": 1, "state": "active"}).want(409).refused(fault.VersionConflict)
	rotated := w.as(w.owner, "POST", path+"/rotate", object{}).want(200)
	if rotated.text("secret") == secret || rotated.text("webhook", "rotates_until") == "" {
		t.Errorf("rotated %s", rotated.raw)
	}
	test := w.as(w.owner, "POST", path+"/test", nil).want(200)
	if test.text("status") != "pending" || test.text("message_id") != "msg_"+test.text("id") || test.text("type") != "webhook.test" {
		t.Errorf("test %s", test.raw)
	}
	for query, want := range map[string]int{"": 1, "?status=pending": 1, "?status=failed": 0, "?limit=1": 1, "?cursor=" + test.text("id"): 0} {
		if got := w.as(w.owner, "GET", path+"/deliveries"+query, nil).want(200).count("items"); got != want {
			t.Errorf("deliveries%s: %d, want %d", query, got, want)
		}
	}
	w.as(w.owner, "POST", "/deliveries/"+test.text("id")+"/redeliver", nil).want(200)
	w.as(w.owner, "DELETE", path, nil).want(204)
	w.as(w.owner, "DELETE", path, nil).want(404)
}

// Calls that are wrong say by the field what is.
func TestWrongCallsAboutWebhooks(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for field, body := range map[string]object{
		"url": {"url": "http://127.0.0.1/"}, "types[0]": {"url": "https://93.184.215.14/", "types": []string{"job.unheard"}},
		"products[0]": {"url": "https://93.184.215.14/", "products": []string{"none"}},
		"secret":      {"url": "https://93.184.215.14/", "secret": "whsec_x"},
	} {
		w.as(w.owner, "POST", "/webhooks", body).want(422).refused(fault.Validation, field)
	}
	path := "/webhooks/" + w.as(w.owner, "POST", "/webhooks", object{"url": "https://93.184.215.14/"}).want(201).text("webhook", "id")
	w.as(w.owner, "POST", path+"/rotate", object{"overlap_hours": 169}).want(422).refused(fault.Validation, "overlap_hours")
	w.as(w.owner, "PATCH", path, object{"version": 1, "state": "disabled"}).want(422).refused(fault.Validation, "state")
	w.as(w.owner, "GET", path+"/deliveries?status=lost", nil).want(422).refused(fault.Validation, "status")
	w.as(w.owner, "GET", path+"/deliveries?cursor=x", nil).want(422).refused(fault.Validation, "cursor")
	for _, nothing := range []string{"x", ids.New().String()} {
		w.as(w.owner, "POST", "/webhooks/"+nothing+"/test", nil).want(404)
		w.as(w.owner, "POST", "/deliveries/"+nothing+"/redeliver", nil).want(404)
	}
}
