package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// The form's secrets are kept from everybody; its inputs are shown.
func TestAFormWithSecrets(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	typed := url.Values{"inputs": {"URL = https://x?a=b\r\n\r\nEMPTY=\r\n"}, "secrets": {"TOKEN=canary=1\r\n PIN = canary 2 \r\n"}}
	handlertest.WantRedirect(t, d.Post("/jobs", handlertest.Filled(typed)), "/jobs/FB-1")
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#job-inputs", "https://x?a=b")
	handlertest.WantText(t, doc, "#job-inputs", "TOKEN [secret]")
	handlertest.WantText(t, doc, "#job-inputs", "Secrets are encrypted.")
	handlertest.WantCount(t, doc, "#job-inputs dt", 4)
	handlertest.WantCount(t, doc, "#job-inputs dd svg", 2)
	for _, address := range []string{"/jobs/FB-1", "/board", "/timeline", "/jobs/FB-1/log", "/jobs/FB-1/attempts"} {
		if strings.Contains(d.Get(address).Body.String(), "canary") {
			t.Errorf("%s tells a secret", address)
		}
	}
	got, err := d.Dispatch.Claim(t.Context(), agent, claim.Request{})
	if err != nil || len(got.Jobs) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	if input, err := got.Jobs[0].RevealedInput(); err != nil || string(input) != `{"EMPTY":"","PIN":"canary 2","TOKEN":"canary=1","URL":"https://x?a=b"}` {
		t.Errorf("the agent gets %s, %v", input, err)
	}
	if strings.Contains(d.LogText.String(), "canary") {
		t.Error("the log tells a secret")
	}
}

// A refused form comes back without its secrets, and says so. No sentence repeats
// what was typed.
func TestARefusedFormDoesNotShowSecrets(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	for what, c := range map[string]struct {
		in         url.Values
		field, say string
	}{
		"another field": {url.Values{"title": {""}, "inputs": {"A=x"}, "secrets": {"TOKEN=canary"}}, "#title-e", "A job needs a title."},
		"no name":       {url.Values{"inputs": {"A=x"}, "secrets": {"B=y\r\ncanary"}}, "#secrets-e", "Line 2 is not NAME=value."},
		"empty name":    {url.Values{"inputs": {"=canary"}}, "#inputs-e", "Line 1 is not NAME=value."},
		"twice":         {url.Values{"inputs": {"A=x"}, "secrets": {"A=canary"}}, "#secrets-e", "Line 1 has a name that another line has."},
		"too long":      {url.Values{"secrets": {"A=canary" + strings.Repeat("y", 16<<10)}}, "#secrets-e", "more than 16384 bytes"},
		"long name":     {url.Values{"secrets": {strings.Repeat("N", 129) + "=canary"}}, "#secrets-e", "1 to 128 characters"},
	} {
		res := d.Post("/jobs", handlertest.Filled(c.in))
		text := res.Body.String()
		doc := handlertest.Page(t, res, http.StatusUnprocessableEntity)
		handlertest.WantText(t, doc, c.field, c.say)
		if c.in.Has("secrets") {
			handlertest.WantText(t, doc, "#secrets-h", "The secrets that you typed are not sent back")
			if strings.Contains(text, "canary") {
				t.Errorf("%s: the page tells a secret", what)
			}
		}
		if doc.Find("#inputs").Text() != c.in.Get("inputs") {
			t.Errorf("%s: the inputs came back as %q", what, doc.Find("#inputs").Text())
		}
	}
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/new?secrets=A%3Dcanary&inputs=B%3Dx"), http.StatusOK), "#secrets-h", "Encrypted; only the agent")
}

// Owners change the key; admins see how far it is, others nothing.
func TestThePageOfTheKeys(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/settings/secrets"), http.StatusOK)
	handlertest.WantText(t, doc, "main", "No secret is kept yet")
	handlertest.WantCount(t, doc, "#dlg-renew", 0)
	_, err := d.Jobs.Create(t.Context(), d.Owner, nil, jobs.New{Spec: jobs.Spec{Title: "a"}, SecretKeys: []string{"A"},
		InputContext: json.RawMessage(`{"A":"x"}`)},
		jobs.New{Spec: jobs.Spec{Title: "b"}, SecretKeys: []string{"A"}, InputContext: json.RawMessage(`{"A":"x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	doc = handlertest.Page(t, d.Get("/settings/secrets"), http.StatusOK)
	handlertest.WantText(t, doc, "#keys", "Encrypts what is new")
	handlertest.WantCount(t, doc, "#keys tbody tr", 1)
	handlertest.WantCount(t, doc, "#dlg-renew form[action='/settings/secrets/renew']", 1)
	handlertest.WantRedirect(t, d.Post("/settings/secrets/renew", url.Values{}), "/settings/secrets")
	doc = handlertest.Page(t, d.Get("/settings/secrets"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "A new key was made")
	handlertest.WantText(t, doc, "#rotation", "0 of 2 values are encrypted with the new key.")
	handlertest.WantText(t, doc, "#keys", "Is being replaced")
	handlertest.WantCount(t, doc, "#dlg-renew", 0)
	handlertest.WantRedirect(t, d.Post("/settings/secrets/renew", url.Values{}), "/settings/secrets")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/secrets"), http.StatusOK), "#toasts", "A rotation is under way.")
	for range 2 {
		if _, err := d.Jobs.Secrets.RotateSecrets(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	doc = handlertest.Page(t, d.Get("/settings/secrets"), http.StatusOK)
	handlertest.WantCount(t, doc, "#rotation", 0)
	handlertest.WantText(t, doc, "#keys", "Retired")
	dbfactory.Exec(t, d.DB, `UPDATE workspace_key SET server_key = '12345678' WHERE id = 1`)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/secrets"), http.StatusOK), "main", "This server cannot use one of the keys.")
}
