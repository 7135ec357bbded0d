package web

import (
	"context"
	"log/slog"

	"github.com/alexedwards/scs/v2"

	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/screens"
)

// Deps is what the frame around pages and the browsers' sessions need.
type Deps struct {
	Accounts *accounts.Parts
	// Provider is the identity provider; nil where none is configured.
	Provider *oidc.Provider
	// Sessions comes from NewSessions.
	Sessions *scs.SessionManager
	Log      *slog.Logger
	Fleet    *fleet.Service
	Screens  *screens.Service
	// Standing is who leads the coordination, at most a few seconds ago.
	Standing func(ctx context.Context) (coordinator.Status, error)
	// EnrolmentTokenFile is shown to people who connect their first factory.
	EnrolmentTokenFile string
	// Secure is whether people reach the server by https.
	Secure bool
}

// Site knows the browser that asks: its session, its theme, the toast that waits
// for it, and the frame that its pages have.
type Site struct{ Deps }

// New returns the site.
func New(d Deps) *Site { return &Site{d} }
