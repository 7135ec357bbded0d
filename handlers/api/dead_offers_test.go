package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// Offers that nobody took are listed with their jobs, the newest first, for people who run the fleet.
func TestDeadOffersAreListed(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	first, second := w.job("first"), w.job("second")
	for _, key := range []string{first, second} {
		dbfactory.Exec(t, w.db, `INSERT INTO dead_offer (workspace_id, job_id, job_version, factory_id, factory, deliveries, expires_at)
			SELECT j.workspace_id, j.id, j.version, f.id, f.name, 5, now() FROM job j, factory f WHERE j.key = $1`, key)
	}
	got := w.as(w.owner, "GET", "/dispatch/dead", nil).want(200)
	if got.count("items") != 2 || got.text("items", 0, "job") != second || got.text("items", 0, "title") != "second" ||
		got.number("items", 0, "deliveries") != 5 || got.text("items", 0, "factory") == "" || got.text("items", 0, "at") == "" {
		t.Errorf("dead offers: %s", got.raw)
	}
	page := w.as(w.owner, "GET", "/dispatch/dead?limit=1", nil).want(200)
	rest := w.as(w.owner, "GET", fmt.Sprintf("/dispatch/dead?limit=1&before=%d", page.number("items", 0, "id")), nil).want(200)
	if rest.count("items") != 1 || rest.text("items", 0, "job") != first {
		t.Errorf("after the first page: %s", rest.raw)
	}
	w.as(ada, "GET", "/dispatch/dead", nil).want(403).refused(fault.Forbidden)
}

// An agent gets what its factory's own program connects to NATS with; without NATS there is nothing.
func TestCredentialsOfAFactory(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t, func(o *app.Options) { o.Transport = transport.Poll{} })
	w.as(w.agent("ada"), "GET", "/fleet/credentials", nil).want(404).refused(fault.NotFound)

	w = newAPIServer(t, func(o *app.Options) { o.Transport = transporttest.Embedded(t) })
	ada := w.agent("ada")
	w.as(w.owner, "GET", "/fleet/credentials", nil).want(403).refused(fault.Forbidden)
	var got answer
	for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) { // until the embedded server runs
		if got = w.as(ada, "GET", "/fleet/credentials", nil); got.status == 200 || time.Now().After(end) {
			break
		}
		got.want(503).refused(fault.Unavailable)
	}
	got.want(200)
	if !strings.HasPrefix(got.text("urls", 0), "nats://127.0.0.1:") || !strings.HasPrefix(got.text("subject"), "fleetboard.offer.") ||
		!strings.Contains(got.text("credentials"), "NATS USER JWT") || got.text("expires_at") == "" {
		t.Errorf("credentials: %s", got.raw)
	}
}
