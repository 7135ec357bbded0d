package api_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	a := w.as("", "GET", "/version", nil).want(200)
	if a.text("server") != "test" || a.number("schema") != 7 || a.text("api") != described.doc.Info.Version || a.text("min_client") != api.MinClient {
		t.Errorf("the version: %s", a.raw)
	}
}

// A client that is too old learns what to install, whatever it calls.
func TestOldClientsAreRefused(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for _, said := range []string{"my-agent/0.9.9", "my-agent/0", "cli/0.99.0-rc.1"} {
		for path, token := range map[string]string{"/jobs": w.owner, "/version": "", "/agents": ""} {
			a := w.as(token, "GET", path, nil, "Fleetboard-Client", said).want(426).refused(fault.ClientTooOld)
			if a.text("min_client") != api.MinClient || a.text("client") != said || a.header.Get("Upgrade") != "Fleetboard-Client/"+api.MinClient {
				t.Errorf("%s at %s: %s", said, path, a.raw)
			}
		}
	}
	for _, said := range []string{"", "my-agent/1", "my-agent/1.0", "my-agent/1.0.0", "my-agent/1.0.0+build.7", "cli/2.3-rc.1", "x/10.0.0"} {
		w.as(w.owner, "GET", "/jobs", nil, "Fleetboard-Client", said).want(200)
	}
	for _, said := range []string{"my-agent", "my-agent/", "/1.0", "my-agent/v1", "my agent/1.0", "a/1.2.3.4"} {
		w.as(w.owner, "GET", "/jobs", nil, "Fleetboard-Client", said).want(400).refused(fault.Malformed)
	}
	job := w.as(w.owner, "POST", "/jobs", object{"title": "x"}, "Fleetboard-Client", "my-agent/0.1").want(426)
	if job.text("code") != "client_too_old" || w.as(w.owner, "GET", "/jobs", nil).count("items") != 0 {
		t.Errorf("a refused client made a job: %s", job.raw)
	}
}
