package api_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// A person reads and changes what he is told of, part by part; nonsense is refused by field.
func TestNotificationSettings(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	a := w.as(w.owner, "GET", "/me/notifications", nil).want(200)
	if a.at("channels", "email") != false || a.at("on", "review") != true || a.at("quiet_hours", "timezone") != "UTC" {
		t.Errorf("by default it is %s", a.raw)
	}
	a = w.as(w.owner, "PUT", "/me/notifications", object{"channels": object{"webhook": true}, "webhook_url": "https://hooks.example.com/me",
		"quiet_hours": object{"from": "22:00", "to": "07:00", "timezone": "Europe/Berlin"}}).want(200)
	if a.at("channels", "webhook") != true || a.text("webhook_secret") == "" {
		t.Errorf("then it is %s", a.raw)
	}
	a = w.as(w.owner, "PUT", "/me/notifications", object{"on": object{"failed": false}, "digest_minutes": 15}).want(200)
	if a.at("on", "failed") != false || a.at("on", "review") != true || a.number("digest_minutes") != 15 || a.at("quiet_hours", "from") != "22:00" {
		t.Errorf("what is not named has not stayed: %s", a.raw)
	}
	for field, body := range map[string]object{
		"digest_minutes":       {"digest_minutes": 1441},
		"quiet_hours.timezone": {"quiet_hours": object{"from": "22:00", "to": "07:00", "timezone": "Mars/Base"}},
		"quiet_hours.from":     {"quiet_hours": object{"from": "10pm", "to": "07:00"}},
		"escalate.to":          {"escalate": object{"minutes": 5, "to": "nobody@example.com"}},
		"webhook_url":          {"webhook_url": "ftp://x"},
	} {
		w.as(w.owner, "PUT", "/me/notifications", body).want(422).refused(fault.Validation, field)
	}
	for field, body := range map[string]object{
		"channels.fax": {"channels": object{"fax": true}},
		"on.weather":   {"on": object{"weather": true}},
	} {
		w.as(w.owner, "PUT", "/me/notifications", body).want(400).refused(fault.Malformed, field)
	}
	stranger := w.otherWorkspace()
	w.as(w.agent("ada"), "GET", "/me/notifications", nil).want(403)
	w.as(w.agent("ada"), "PUT", "/me/notifications", object{"digest_minutes": 1}).want(403)
	if other := w.as(stranger, "GET", "/me/notifications", nil).want(200); other.number("digest_minutes") != 0 {
		t.Errorf("a stranger reads %s", other.raw)
	}
}

// Browsers are added, listed and forgotten by their person alone.
func TestBrowsersOfAPerson(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	stranger := w.otherWorkspace()
	// The example of RFC 8291.
	sub := object{"endpoint": "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", "expirationTime": nil, "browser": "Firefox",
		"keys": object{"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "auth": "BTBZMqHH6r4Tts7J_aSIgg"}}
	for range 2 {
		w.as(w.owner, "POST", "/me/notifications/browsers", sub).want(200)
	}
	a := w.as(w.owner, "GET", "/me/notifications/browsers", nil).want(200)
	if a.text("items", 0, "browser") != "Firefox" || len(a.text("public_key")) != 87 {
		t.Errorf("the list is %s", a.raw)
	}
	id := a.text("items", 0, "id")
	w.as(stranger, "DELETE", "/me/notifications/browsers/"+id, nil).want(404)
	w.as(w.owner, "DELETE", "/me/notifications/browsers/x", nil).want(404)
	w.as(w.owner, "DELETE", "/me/notifications/browsers/"+id, nil).want(204)
	w.as(w.owner, "DELETE", "/me/notifications/browsers/"+id, nil).want(404)
	w.as(w.owner, "POST", "/me/notifications/browsers", merge(sub, object{"endpoint": "http://x"})).want(422)
	w.as(w.owner, "POST", "/me/notifications/test", nil).want(422)
}

// A test message says of each channel whether it was sent, and why not.
func TestTestMessagesSayHowEachChannelDid(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.as(w.owner, "POST", "/me/notifications/test", nil).want(422).refused(fault.Validation, "channels")
	w.as(w.owner, "PUT", "/me/notifications", object{"webhook_url": "http://127.0.0.1:9/private"}).want(422).refused(fault.Validation, "webhook_url")
	w.as(w.owner, "PUT", "/me/notifications", object{"channels": object{"webhook": true}, "webhook_url": "http://hooks.invalid/me"}).want(200)
	a := w.as(w.owner, "POST", "/me/notifications/test", nil).want(200)
	if a.text("items", 0, "channel") != "webhook" || a.text("items", 0, "error") == "" {
		t.Errorf("the test was answered %s", a.raw)
	}
}
