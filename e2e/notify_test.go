package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
)

// inView reports whether all of an element is in the window, without scrolling.
const inView = `s => {
	const r = document.querySelector(s).getBoundingClientRect();
	const top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
	return scrollY === 0 && r.width > 0 && r.top >= 0 && r.bottom <= innerHeight && r.left >= 0 && r.right <= innerWidth
		&& document.querySelector(s).contains(top);
}`

// From the link of a message to approved it is one further tap on a phone, with and without scripts; a
// link that is stale shows what has moved, and its form decides on what is there now.
func TestApprovingFromALinkOnAPhone(t *testing.T) {
	t.Parallel()
	for _, noScript := range []bool{false, true} {
		t.Run(fmt.Sprint("noScript=", noScript), func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			agent := s.agent("claude-4")
			for _, title := range []string{"Drain a factory without losing leases, however long its title is", "Pin the runner image"} {
				submitForReview(t, s, api.NewJob{Title: title})
				handIn(t, agent, "9be04d1f00")
			}
			v := s.visit(look{theme: "dark", width: 360, height: 740, touch: true, noScript: noScript})
			v.logIn()
			link := fmt.Sprintf("/review?job=FB-1&version=%d&head=9be04d1f00", s.job("FB-1").Version)
			v.open(link)
			v.sees("#review-bar:visible")
			if fits, err := v.tab.Evaluate(inView, "#do-approve"); err != nil || fits != true {
				t.Errorf("Approve is not in view: %v, %v", fits, err)
			}
			if job := s.job("FB-1"); job.Status != "in_review" {
				t.Fatalf("to look at the link has made it %s", job.Status)
			}
			v.must("tap Approve", v.tab.Locator("#do-approve").Tap())
			v.sees(`#toasts:has-text("FB-1 approved")`)
			if job := s.job("FB-1"); job.Status != "approved" {
				t.Errorf("FB-1 is %s", job.Status)
			}

			// Somebody changes the other one after the message was sent.
			was := s.job("FB-2").Version
			title := "Pin the runner image by digest"
			if answer, err := s.owner().PatchJobWithResponse(t.Context(), "FB-2", api.JobPatch{Version: was, Title: &title}); err != nil || answer.JSON200 == nil {
				t.Fatalf("edit: %v", err)
			}
			v.open(fmt.Sprintf("/review?job=FB-2&version=%d&head=9be04d1f00", was))
			v.sees(`#review-moved:has-text("FB-2 has moved since the link was sent."):has-text("Pin the runner image by digest")`)
			if wide, err := v.tab.Evaluate(`() => document.documentElement.scrollWidth > innerWidth`); err != nil || wide != false {
				t.Errorf("the page is wider than the phone: %v, %v", wide, err)
			}
			if fits, err := v.tab.Evaluate(inView, "#do-approve"); err != nil || fits != true {
				t.Errorf("Approve is not in view below what has moved: %v, %v", fits, err)
			}
			// What looks like the second press of the last decision is none: that decision was made long ago.
			v.must("wait", v.evaluate(`sessionStorage.removeItem("decided")`))
			v.must("tap Approve", v.tab.Locator("#do-approve").Tap())
			v.sees(`#toasts:has-text("FB-2 approved")`)
		})
	}
}

// The settings are saved with and without scripts; what is refused stands beside its field.
func TestNotificationSettings(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, how := range []look{{theme: "light", width: 360, height: 740, noScript: true}, desktop} {
		v := s.visit(how)
		v.logIn()
		v.open("/settings/notifications")
		v.sees(`#no-browsers:has-text("No browser shows your messages yet.")`)
		v.sees(`#test button[disabled]`)
		v.must("switch the webhook on", v.tab.Locator("#webhook").Check())
		v.fill("#quiet_from", "22:00")
		v.fill("#quiet_to", "07:00")
		v.fill("#timezone", "Mars/Base")
		v.click("#notifications-form button[type=submit]")
		v.sees(`#webhook_url-e:has-text("It must be the address of your webhook")`)
		v.sees(`#timezone-e:has-text("It must be the name of a time zone like Europe/Berlin.")`)
		v.fill("#webhook_url", "http://127.0.0.1:9/hook")
		v.fill("#timezone", "Europe/Berlin")
		v.click("#notifications-form button[type=submit]")
		v.sees(`#webhook_url-e:has-text("It must lead to the public network")`)
		v.fill("#webhook_url", "http://hooks.invalid/me")
		v.click("#notifications-form button[type=submit]")
		v.sees(`#toasts:has-text("Notifications were saved")`)
		v.sees(`#webhook-secret:has-text("whsec_")`)
		v.click("#test button[type=submit]")
		v.sees(`#toasts:has-text("By webhook: The webhook could not be reached")`)
		v.must("switch it off", v.tab.Locator("#webhook").Uncheck())
		v.fill("#webhook_url", "")
		v.click("#notifications-form button[type=submit]")
		v.sees(`#toasts:has-text("Notifications were saved")`)
		v.sees(`#test button[disabled]`)
	}
}

// The service worker is registered for the whole site. It shows a message, has a later one about the same
// decision take its place, and leads to pages of ours only.
func TestTheServiceWorkerShowsMessages(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	v := s.visit(desktop)
	v.logIn()
	v.must("allow messages", v.tab.Context().GrantPermissions([]string{"notifications"}, playwright.BrowserContextGrantPermissionsOptions{Origin: &s.url}))
	v.open("/settings/notifications")
	scope, err := v.tab.Evaluate(`async () => {
		const r = await navigator.serviceWorker.register(document.getElementById("this-browser").dataset.pushWorker);
		await navigator.serviceWorker.ready;
		return r.scope;
	}`)
	if err != nil || scope != s.url+"/" {
		t.Fatalf("the worker reaches %v, %v", scope, err)
	}
	answer, err := http.Get(s.url + "/push-worker.js")
	if err != nil {
		t.Fatal(err)
	}
	code, err := io.ReadAll(answer.Body)
	if _ = answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	// This browser has no window and shows no messages: the worker's own code runs with a stand-in for
	// what shows them.
	said, err := v.tab.Evaluate(`async () => {
		const on = {}, shown = [], opened = [];
		const self = {
			location, skipWaiting() {}, clients: { claim() {}, openWindow(url) { opened.push(url); } },
			registration: { showNotification(title, options) { shown.push(title + " " + options.tag + " " + options.silent + " " + options.data.url); } },
			addEventListener(name, does) { on[name] = does; },
		};
		` + string(code) + `
		for (const text of ['{"title":"Review FB-1","body":"x","url":"/review?job=FB-1","tag":"fb-1"}',
			'{"title":"FB-1 is approved now","url":"https://evil.example/","tag":"fb-1","silent":true}', "no JSON"]) {
			on.push({ data: { json: () => JSON.parse(text) }, waitUntil() {} });
		}
		on.notificationclick({ notification: { close() {}, data: { url: location.origin + "/review" } }, waitUntil() {} });
		return [...shown, ...opened].join("\n");
	}`)
	want := strings.ReplaceAll("Review FB-1 fb-1 false URL/review?job=FB-1\nFB-1 is approved now fb-1 true URL/needs-you\n"+
		"Something waits for you fleetboard false URL/needs-you\nURL/review", "URL", s.url)
	if err != nil || said != want {
		t.Errorf("the worker shows\n%v\nwant\n%s (%v)", said, want, err)
	}
}
