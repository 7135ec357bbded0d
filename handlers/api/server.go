package api

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"

	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
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
	// JobSearch finds jobs by words.
	JobSearch *jobsearch.Service
	Fleet     *fleet.Service
	Dispatch  *dispatch.Service
	Screens   *screens.Service
	Events    *eventlog.Log
	Blobs     *blobs.Service
	// Estimates say what jobs are expected to cost.
	Estimates *estimates.Service
	Budgets   *budgets.Service
	Prices    *prices.Service
	Usage     *usage.Service
	// Coordinator says who leads.
	Coordinator *coordinator.Service
	Bus         *bus.Service
	// Wake tells of new events; nil leaves streams to their slow poll.
	Wake Subscriber
	// Done is closed when the server stops: streams end then. Nil is never.
	Done   <-chan struct{}
	Tokens Bearers
	Log    *slog.Logger
	// Build is what GetVersion tells.
	Build Build
	// Quota is how much each asker may send; nil is no limit.
	Quota *quota.Quota
	// Turns are those of expensive calls; nil is no limit.
	Turns *quota.Turns
	// ClientAddress says where a request comes from. Nil is the connection's
	// address.
	ClientAddress func(*http.Request) string
}

// Subscriber tells of topics that were published in any process.
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
	actionHandlers
	agentHandlers
	blobHandlers
	branchHandlers
	budgetHandlers
	priceHandlers
	claimHandlers
	estimateHandlers
	eventHandlers
	factoryHandlers
	historyHandlers
	jobHandlers
	linkHandlers
	messageHandlers
	exportHandlers
	metaHandlers
	productHandlers
	reportHandlers
	routabilityHandlers
	statusHandlers
	usageHandlers

	tokens   Bearers
	log      *slog.Logger
	newKey   func(name string, asked []byte) *idempotency.Key
	quota    *quota.Quota
	turns    *quota.Turns
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
	bodies := map[string]*openapi3.Schema{}
	for id, op := range all {
		bodies[id] = op.body
	}
	s := &Server{
		actionHandlers:   actionHandlers{actions: d.Dispatch, keys: d.Jobs, log: d.Log},
		agentHandlers:    agentHandlers{agents: d.Dispatch, fleet: d.Fleet, usage: d.Dispatch},
		claimHandlers:    claimHandlers{queue: d.Dispatch},
		blobHandlers:     blobHandlers{blobs: d.Blobs},
		budgetHandlers:   budgetHandlers{budgets: d.Budgets},
		priceHandlers:    priceHandlers{prices: d.Prices},
		estimateHandlers: estimateHandlers{jobs: d.Jobs, estimates: d.Estimates},
		eventHandlers:    eventHandlers{events: d.Events, jobs: d.Jobs, wake: d.Wake, turns: d.Turns, done: d.Done, tokens: d.Tokens},
		factoryHandlers:  factoryHandlers{fleet: d.Fleet, removal: d.Dispatch},
		historyHandlers: historyHandlers{jobs: d.Jobs, attempts: d.Attempts, logs: d.JobLogs, agents: d.Fleet, usage: d.Dispatch,
			events: d.Events, board: d.Screens},
		jobHandlers: jobHandlers{jobs: d.Jobs, discover: d.Dispatch, fleet: d.Fleet, agents: d.Fleet, usage: d.Dispatch,
			estimates: d.Estimates, search: d.JobSearch},
		linkHandlers:        linkHandlers{links: d.Jobs},
		messageHandlers:     messageHandlers{bus: d.Bus, done: d.Done, tokens: d.Tokens},
		exportHandlers:      exportHandlers{exports: d.Bus},
		metaHandlers:        metaHandlers{build: d.Build, version: version},
		branchHandlers:      branchHandlers{branches: d.Jobs},
		productHandlers:     productHandlers{products: d.Jobs},
		reportHandlers:      reportHandlers{work: d.Dispatch, ends: d.Dispatch, after: d.Dispatch, bodies: bodies, log: d.Log},
		routabilityHandlers: routabilityHandlers{fleet: d.Fleet, products: d.Jobs, board: d.Screens},
		statusHandlers:      statusHandlers{coordinator: d.Coordinator, recovery: d.Dispatch, jobs: d.Jobs, fleet: d.Fleet},
		usageHandlers:       usageHandlers{usage: d.Usage, turns: d.Turns},

		tokens: d.Tokens, log: d.Log, newKey: d.Jobs.Key, quota: d.Quota, turns: d.Turns,
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
