package notifications

import (
	"context"
	"crypto/x509"
	"net/http"

	"github.com/fleetboard/fleetboard/internal/outbound"
)

// Everything has the next Look look at all workspaces.
func (s *Service) Everything() { s.logs.Note("") }

// Trust has a mail server trusted by these certificates.
func (m *MailServer) Trust(roots *x509.CertPool) { m.roots = roots }

// Interrupt has fn run after each parcel of a channel was sent, and before that is noted; where it
// reports true it never is, as where the process ends there.
func (s *Service) Interrupt(c Channel, fn func() bool) {
	send := s.channels[c]
	s.channels[c] = func(ctx context.Context, list []parcel, done func(parcel, error)) {
		send(ctx, list, func(p parcel, err error) {
			if !fn() {
				done(p, err)
			}
		})
	}
}

// PushKey is what browsers subscribe with.
func (s *Service) PushKey() string { return s.pusher.keys.public }

// Allow allows no private network any more.
func (s *Service) Allow() {
	s.hooks = hooks{outbound.Client(outbound.NewGuard(nil, nil).Transport(connectTimeout), sendTimeout)}
}

// TrustPush has push services reached by a client that knows their certificates.
func (s *Service) TrustPush(client *http.Client) { s.pusher.client = client }
