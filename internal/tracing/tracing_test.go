package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Where nothing is recorded, nothing is made on the way of a claim.
func TestOffCostsNothing(t *testing.T) {
	ctx, job := t.Context(), ids.New()
	r := httptest.NewRequest(http.MethodPost, "/api/v1/fleet/claim", nil)
	for name, do := range map[string]func(){
		"a claim":   func() { JobClaimed(ctx, job, 7) },
		"a job":     func() { JobCreated(ctx, job) },
		"a part":    func() { _, s := Begin(ctx, "clone"); s.End("") },
		"a route":   func() { Route(ctx, r, "/api/v1/fleet/claim") },
		"a request": func() { _, s := Request(r); s.Answered(200) },
		"an engine": func() { Environ(ctx) },
	} {
		if n := testing.AllocsPerRun(1000, do); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if JobClaimed(ctx, job, 7) != "" || On() {
		t.Error("something is recorded")
	}
}

// Every process names a job's trace alike, and no two jobs have one name.
func TestAJobNamesItsTrace(t *testing.T) {
	one, other := ids.New(), ids.New()
	first, again, second := deriveIDs(one), deriveIDs(one), deriveIDs(other)
	if first != again || first.trace == second.trace || !first.trace.IsValid() || !first.first.IsValid() {
		t.Error("the names are not those of jobs")
	}
}

// An address that cannot be read is said at the start; what another process says of its trace may be anything.
func TestHostileSettings(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "%%%=,=")
	stop, err := Start(t.Context(), "test", "1", log)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, parent := range []string{"", "00-0-0-01", "ff-" + "\x00", string(make([]byte, 1<<16)), "00-00000000000000000000000000000000-0000000000000000-01"} {
		ctx, span := Continue(context.Background(), parent, "attempt")
		if len(Environ(ctx)) != 1 {
			t.Errorf("after %.20q there is no trace", parent)
		}
		span.End("other")
	}
}
