package api

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"

	"github.com/fleetboard/fleetboard/internal/accounts/issuers"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
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
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// BasePath is where the API lives on the server.
const BasePath = "/api/v1"

// Deps are the use cases that the API offers.
type Deps struct {
	Jobs     *jobs.Service
	Attempts *attempts.Service
	JobLogs  *joblog.Service
	// Transcripts are what agents did in their attempts.
	Transcripts *transcript.Service
	Comments    *comments.Service
	// JobSearch finds jobs by words.
	JobSearch *jobsearch.Service
	Fleet     *fleet.Service
	Pools     *pools.Service
	Dispatch  *dispatch.Service
	Announce  *announce.Service
	Screens   *screens.Service
	Events    *eventlog.Log
	Notify    *notifications.Service
	Blobs     *blobs.Service
	// Estimates say what jobs are expected to cost.
	Estimates *estimates.Service
	Budgets   *budgets.Service
	Prices    *prices.Service
	Usage     *usage.Service
	// Coordinator says who leads.
	Coordinator *coordinator.Service
	// Proof says what was looked at after a change of PostgreSQL, Losses what a log lacks.
	Proof  *proof.Service
	Losses *loss.Service
	Bus    *bus.Service
	// Webhooks send events to others.
	Webhooks *webhooks.Service
	// Wake notifies of new events; nil leaves streams to their slow poll.
	Wake Subscriber
	// Done is closed when the server stops: streams end then. Nil is never.
	Done   <-chan struct{}
	Tokens Bearers
	// Issuers let workloads in by the tokens of their platforms.
	Issuers *issuers.Service
	Log     *slog.Logger
	// Build is what GetVersion returns.
	Build Build
	// Quota is how much each caller may send; nil is no limit.
	Quota *quota.Quota
	// Servers are those that live; the limits of streams are divided among them. Nil is one.
	Servers *servers.List
	// Turns are those of expensive calls; nil is no limit.
	Turns *quota.Turns
	// ClientAddress says where a request comes from. Nil is the connection's
	// address.
	ClientAddress func(*http.Request) string
}

// Subscriber notifies of topics that were published in any process.
type Subscriber interface {
	Subscribe(prefix string, fn func(topic string)) (cancel func())
}

// Bearers says whom a bearer token stands for. Faults: TokenInvalid,
// TokenExpired, TokenRevoked.
type Bearers interface {
	Bearer(ctx context.Context, token string) (tenancy.Principal, error)
}

// Server answers the calls of openapi.yaml. It checks each call; the handlers of its
// noun answer it.
type Server struct {
	*Deps
	actionHandlers
	agentHandlers
	blobHandlers
	branchHandlers
	budgetHandlers
	priceHandlers
	stopHandlers
	dispatchHandlers
	notificationHandlers
	poolHandlers
	claimHandlers
	estimateHandlers
	eventHandlers
	factoryHandlers
	commentHandlers
	historyHandlers
	issuerHandlers
	jobHandlers
	linkHandlers
	messageHandlers
	exportHandlers
	metaHandlers
	productHandlers
	reportHandlers
	routabilityHandlers
	statusHandlers
	stepHandlers
	usageHandlers
	webhookHandlers

	newKey   func(name string, asked []byte) *idempotency.Key
	memory   *quota.Budget       // for what is read of bodies
	carrying *quota.Budget       // for what is held of blobs under way
	decoding *semaphore.Weighted // of the bodies of cheap calls that are not small
	refusals *semaphore.Weighted // that are held back
	echo     *echo.Echo
}

var _ StrictServerInterface = (*Server)(nil)

// New returns the API. It has a router of its own, so that neither sessions nor
// error pages of the web edge reach it.
func New(d Deps) *Server {
	all, version := operations()
	s := &Server{
		Deps:                 &d,
		actionHandlers:       actionHandlers{&d},
		agentHandlers:        agentHandlers{&d},
		claimHandlers:        claimHandlers{&d},
		blobHandlers:         blobHandlers{&d},
		budgetHandlers:       budgetHandlers{&d},
		priceHandlers:        priceHandlers{&d},
		stopHandlers:         stopHandlers{&d},
		dispatchHandlers:     dispatchHandlers{&d},
		poolHandlers:         poolHandlers{&d},
		estimateHandlers:     estimateHandlers{&d},
		eventHandlers:        eventHandlers{&d},
		factoryHandlers:      factoryHandlers{&d},
		commentHandlers:      commentHandlers{&d},
		historyHandlers:      historyHandlers{&d},
		issuerHandlers:       issuerHandlers{&d},
		jobHandlers:          jobHandlers{&d},
		linkHandlers:         linkHandlers{&d},
		messageHandlers:      messageHandlers{&d},
		exportHandlers:       exportHandlers{&d},
		metaHandlers:         metaHandlers{Deps: &d, version: version},
		branchHandlers:       branchHandlers{&d},
		productHandlers:      productHandlers{&d},
		reportHandlers:       reportHandlers{Deps: &d, reports: reportSchemas(all)},
		routabilityHandlers:  routabilityHandlers{&d},
		statusHandlers:       statusHandlers{&d},
		stepHandlers:         stepHandlers{&d},
		usageHandlers:        usageHandlers{&d},
		webhookHandlers:      webhookHandlers{&d},
		notificationHandlers: notificationHandlers{&d},

		newKey:   d.Jobs.Key,
		memory:   quota.NewBudget(bodyBudget, bodyPatience),
		carrying: quota.NewBudget(transferBudget, bodyPatience),
		decoding: semaphore.NewWeighted(int64(max(runtime.GOMAXPROCS(0)/2, 1))),
		refusals: semaphore.NewWeighted(maxHeldRefusals),
		echo:     echo.New(),
	}
	s.echo.IPExtractor = d.ClientAddress
	if s.echo.IPExtractor == nil {
		s.echo.IPExtractor = echo.ExtractIPDirect()
	}
	s.echo.Binder = checkedBinder{}
	s.echo.HTTPErrorHandler = s.refuse
	s.echo.Use(s.identify, s.recover, s.checkClient)
	guards := map[string][]echo.MiddlewareFunc{}
	for id, op := range all {
		guards[id] = []echo.MiddlewareFunc{s.guard(op)}
	}
	RegisterHandlersWithOptions(s.echo, NewStrictHandler(s, nil),
		RegisterHandlersOptions{BaseURL: BasePath, OperationMiddlewares: guards})
	return s
}

// ServeHTTP answers one call. It is to be mounted at /api/: calls that do not
// exist answer with a problem, not with a page.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }
