package webhooks

import (
	"context"
	"net/http"
	"net/netip"
	"testing"
)

// Guard is what keeps connections to the public network.
type Guard = guard

// MaxPending bounds what is made ahead of what was delivered.
const MaxPending = maxPending

// NewGuard returns a guard that lets through the public network and the named ones.
func NewGuard(allowed []netip.Prefix, r Resolver) *Guard { return newGuard(allowed, r) }

// NewClient returns what deliveries are sent with.
func NewClient(g *Guard) *http.Client { return newClient(g) }

// CheckURL is what an address is checked with when it is saved.
func CheckURL(ctx context.Context, g *Guard, url string) error { return g.checkURL(ctx, url) }

// Lead has a service send until the test ends, whoever leads.
func Lead(t testing.TB, s *Service) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.sendWhile(ctx, func() bool { return true }) }()
	t.Cleanup(func() { cancel(); <-ended })
}
