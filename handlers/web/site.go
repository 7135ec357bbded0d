package web

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/fleetboard/fleetboard/handlers/edge"
	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/dispatch"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Deps is what the pages need.
type Deps struct {
	Accounts *accounts.Parts
	// Provider is the identity provider; nil where none is configured.
	Provider *oidc.Provider
	// Sessions comes from NewSessions.
	Sessions *scs.SessionManager
	Log      *slog.Logger

	Jobs     *jobs.Service
	Attempts *attempts.Service
	JobLogs  *joblog.Service
	// JobSearch finds jobs by words.
	JobSearch *jobsearch.Service
	Fleet     *fleet.Service
	Dispatch  *dispatch.Service
	Screens   *screens.Service
	Bus       *bus.Service
	Events    *eventlog.Log
	Budgets   *budgets.Service
	Blobs     *blobs.Service
	Prices    *prices.Service
	// Estimates say what jobs are expected to cost.
	Estimates *estimates.Service
	Usage     *usage.Service
	// Coordinator says who leads.
	Coordinator *coordinator.Service

	// Ready reports whether the server can answer, for /readyz.
	Ready func(context.Context) error
	// Done is closed when the server stops: live streams end then. Nil is a
	// server that never stops.
	Done <-chan struct{}
	// EnrolmentTokenFile is shown to people who connect their first factory.
	EnrolmentTokenFile string
	// Secure is whether people reach the server by https: cookies are then
	// bound to it, and browsers get the instruction to stay with it.
	Secure bool
	// Quota is how much each person and each address may send; nil is no limit.
	Quota *quota.Quota
	// Turns are those of pages, which are expensive; nil is no limit.
	Turns *quota.Turns
	// ClientAddress says where a request comes from. Nil is the connection's
	// address.
	ClientAddress func(*http.Request) string
}

// Site is what all pages have in common: the services that they call, the browser's session,
// its theme, the toast that waits for it, and the frame around each page.
type Site struct {
	Deps
	// leader says who leads the coordination, at most leaderFresh ago.
	leader *edge.Probe[coordinator.Status]
}

// leaderFresh is how old may be what the pages say of the coordinator.
const leaderFresh = 5 * time.Second

// New returns the site.
func New(d Deps) *Site {
	return &Site{Deps: d, leader: edge.NewProbe(leaderFresh, d.Coordinator.Status)}
}
