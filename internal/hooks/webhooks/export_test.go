package webhooks

import (
	"context"
	"net/http"
	"testing"
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
