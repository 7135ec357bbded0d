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
	"github.com/fleetboard/fleetboard/internal/backup"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/coordinator/proof"
	"github.com/fleetboard/fleetboard/internal/dispatch"
	"github.com/fleetboard/fleetboard/internal/dispatch/announce"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/eventlog/loss"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/hooks/notifications"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/jobs/comments"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
	"github.com/fleetboard/fleetboard/internal/leadership/servers"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Deps are the services and settings that the pages need.
type Deps struct {
	Accounts *accounts.Parts
	// Provider is the identity provider; nil where none is configured.
	Provider *oidc.Provider
	// Sessions comes from NewSessions.
	Sessions *scs.SessionManager
	Log      *slog.Logger

	Jobs        *jobs.Service
	Attempts    *attempts.Service
	JobLogs     *joblog.Service
	Transcripts *transcript.Service
	Comments    *comments.Service
	JobSearch   *jobsearch.Service
	Fleet       *fleet.Service
	Pools       *pools.Service
	Dispatch    *dispatch.Service
	Announce    *announce.Service
	Screens     *screens.Service
	Bus         *bus.Service
	Events      *eventlog.Log
	Budgets     *budgets.Service
	Blobs       *blobs.Service
	Notify      *notifications.Service
	Prices      *prices.Service
	Estimates   *estimates.Service
	Usage       *usage.Service
	Coordinator *coordinator.Service
	Servers     *servers.List
	Proof       *proof.Service
	Losses      *loss.Service
	Webhooks    *webhooks.Service

	// Ready reports whether the server can answer, for /readyz.
	Ready func(context.Context) error
	// Backups says how the backups stand that the server makes by itself; nil where it makes none.
	Backups func() (backup.Status, error)
	// Done is closed when the server stops: live streams end then. Nil is a
	// server that never stops.
	Done <-chan struct{}
	// Version says which program runs, for people: "v1.2.0, schema 66".
	Version string
	// EnrolmentTokenFile is shown to people who connect their first factory.
	EnrolmentTokenFile string
	// Secure is set where people reach the server by https: then cookies are only sent with it,
	// and browsers are told to use nothing else.
	Secure bool
	// Quota is how much each person and each address may send; nil is no limit.
	Quota *quota.Quota
	// Turns limits how many pages are made at once; nil is no limit.
	Turns *quota.Turns
	// ClientAddress returns the address of a request's client. Nil is the connection's address.
	ClientAddress func(*http.Request) string
}

// Site is what all pages share: the services, the browser's session, its theme, the stored toast,
// and the shell around each page.
type Site struct {
	Deps
	// leader returns the coordinator's status as it was at most leaderFresh ago.
	leader *edge.Probe[coordinator.Status]
}

// leaderFresh is how old the coordinator's status on the pages may be.
const leaderFresh = 5 * time.Second

// New returns the site.
func New(d Deps) *Site {
	return &Site{Deps: d, leader: edge.NewProbe(leaderFresh, d.Coordinator.Status)}
}
