package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// A secret is in the answer to the claim, and in no other answer.
func TestSecretsAreToldToTheHolderAlone(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	in := object{"title": "Build", "repo": "atlas", "secret_keys": []string{"token", "db"},
		"input_context": object{"url": "https://x", "token": "canary-1", "db": object{"pin": 4711123, "on": true}}}
	made := w.as(w.owner, "POST", "/jobs", in).want(201)
	key := made.text("key")
	answers := []string{string(made.raw)}
	ask := func(method, path string) {
		t.Helper()
		answers = append(answers, string(w.as(w.owner, method, path, nil).want(200).raw))
	}
	ask("GET", "/jobs/"+key)
	ask("GET", "/jobs")
	if made.text("input_context", "token") != "[secret]" || made.text("input_context", "db") != "[secret]" ||
		made.text("input_context", "url") != "https://x" || made.text("secret_keys", 0) != "db" || made.text("secret_keys", 1) != "token" {
		t.Errorf("made: %s", made.raw)
	}
	for range 2 {
		got := w.as(ada, "POST", "/fleet/claim", object{"request_id": "r1"}).want(200)
		if got.text("jobs", 0, "input_context", "token") != "canary-1" || got.number("jobs", 0, "input_context", "db", "pin") != 4711123 ||
			got.text("jobs", 0, "secret_keys", 1) != "token" {
			t.Errorf("claim: %s", got.raw)
		}
	}
	answers = append(answers, string(w.as(ada, "POST", "/fleet/progress", object{"job": key, "epoch": 1, "current_step": "uses canary-1",
		"checkpoint": object{"pin": 4711123.0, "more": "pin 4711123"}}).want(200).raw))
	answers = append(answers, string(w.as(ada, "POST", "/fleet/complete", object{"job": key, "epoch": 1, "summary": "with canary-1"}).want(200).raw))
	for _, path := range []string{"/jobs/" + key, "/jobs/" + key + "/attempts", "/jobs/" + key + "/events", "/jobs/" + key + "/explanation", "/events"} {
		ask("GET", path)
	}
	for _, a := range answers {
		if strings.Contains(a, "canary") || strings.Contains(a, "4711123") {
			t.Errorf("an answer tells a secret: %s", a)
		}
	}
}

func TestSecretKeysMustBeInputs(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	bad := object{"title": "b", "input_context": object{"a": 1}, "secret_keys": []string{"a", "zz"}}
	w.as(w.owner, "POST", "/jobs", bad).want(422).refused(fault.Validation, "secret_keys[1]")
	w.as(w.owner, "POST", "/jobs/batch", object{"jobs": []object{{"title": "a"}, bad}}).want(422).refused(fault.Validation, "jobs[1].secret_keys[1]")
}
