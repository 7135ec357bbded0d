package webhooks

import (
	"context"
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/internal/eventlog"
)

// MaxPending bounds what is made ahead of what was delivered.
const MaxPending = maxPending

// Client returns what deliveries are sent with.
func (s *Service) Client() *http.Client { return s.client }

// Lead has a service send until the test ends, whoever leads.
func Lead(t testing.TB, s *Service) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.sendWhile(ctx, func() bool { return true }) }()
	t.Cleanup(func() { cancel(); <-ended })
}

// Part is a part of the log.
type Part = span

// NewPart returns the part from a place to another one, with the types of its events.
func NewPart(after, end eventlog.Cursor, types ...eventlog.Type) Part {
	return Part{after: after, end: end, types: types}
}

// Skip returns how far a webhook of these types goes on in parts of the log without a look at it.
func Skip(place eventlog.Cursor, wanted []string, parts ...Part) eventlog.Cursor {
	r := reader{spans: parts}
	return r.skip(place, wanted)
}
