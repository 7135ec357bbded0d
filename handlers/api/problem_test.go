package api_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// bearers lets everybody in, or nobody.
type bearers struct{ err error }

func (b bearers) Bearer(context.Context, string) (tenancy.Principal, error) {
	return tenancy.Principal{Kind: tenancy.KindPerson, Role: tenancy.RoleOwner}, b.err
}

func TestRefusalsOfTheServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		code   fault.Code
		wait   string
		logged int
	}{
		"busy":           {fault.New(fault.TooMany, "Slowly.").With("retry_after", 7), fault.TooMany, "7", 0},
		"database away":  {fault.New(fault.Unavailable, "Soon."), fault.Unavailable, "2", 1},
		"internal":       {context.DeadlineExceeded, fault.Internal, "", 1},
		"a panic inside": {nil, fault.Internal, "", 1}, // there is no jobs.Service behind it
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			server := httptest.NewServer(api.New(api.Deps{Tokens: bearers{c.err}, Log: slog.New(slog.NewTextHandler(&log, nil))}))
			defer server.Close()
			a := exchange(t, server.URL, request{token: "any", method: "GET", path: "/stats"}).refused(c.code)
			if got := a.header.Get("Retry-After"); got != c.wait {
				t.Errorf("Retry-After %q, want %q", got, c.wait)
			}
			for _, inner := range []string{"panic", "nil pointer", "goroutine", "deadline"} {
				if strings.Contains(string(a.raw), inner) {
					t.Errorf("internal text is shown: %s", a.raw)
				}
			}
			if got := strings.Count(log.String(), "request_id="+a.text("request_id")); got != c.logged {
				t.Errorf("logged %d times, want %d: %s", got, c.logged, log.String())
			}
		})
	}
}
