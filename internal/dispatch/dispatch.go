package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/ageing"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/dispatch/enrol"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/offer"
	"github.com/fleetboard/fleetboard/internal/dispatch/preempt"
	"github.com/fleetboard/fleetboard/internal/dispatch/recovery"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/dispatch/stop"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// Notifier carries wake-ups between the processes of one database.
type Notifier interface {
	Publish(topics ...string)
	Subscribe(prefix string, fn func(topic string)) (cancel func())
	SubscribeWatched(prefix string, fn func(topic string)) (cancel func())
}

// TokenIssuer makes the tokens that agents work with.
type TokenIssuer interface {
	IssueAgentToken(p tenancy.Principal) (token string, expires time.Time, err error)
}

// The parts have names of their own, so that a struct can embed all of them.
type (
	actionsService  = actions.Service
	ageingService   = ageing.Service
	claimService    = claim.Service
	decisionService = decision.Service
	enrolService    = enrol.Service
	offerService    = offer.Service
	preemptService  = preempt.Service
	recoveryService = recovery.Service
	reportService   = report.Service
	settingService  = setting.Service
	stopService     = stop.Service
)

// Service is the parts together.
type Service struct {
	*actionsService
	*ageingService
	*claimService
	*decisionService
	*enrolService
	*offerService
	*preemptService
	*recoveryService
	*reportService
	*settingService
	*stopService

	effects *lease.Effects
}

// BudgetsFreed lets the jobs of a workspace go on that its budgets have enough left for now.
func (s *Service) BudgetsFreed(ctx context.Context, workspace ids.ID, budgets []ids.ID) {
	s.effects.BudgetsFreed(ctx, workspace, budgets)
}

// New returns the dispatch of the jobs kept in d. Results and checkpoints may name blobs of
// contents; nil is none. Limits of waiting claims are divided among servers. Close ends its subscriptions to wake-ups and every wait.
func New(d *db.DB, list *jobs.Service, wake Notifier, tokens TokenIssuer, contents report.Contents,
	servers quota.Servers, log *slog.Logger,
) *Service {
	waiters, effects := waitlist.New(), lease.NewEffects(d, wake, log)
	waiters.Servers = servers
	agents := enrol.New(d, list, wake, tokens, waiters, effects)
	reaper := recovery.New(d, list, effects, log)
	claims := claim.New(d, list, wake, reaper, waiters, effects)
	return &Service{
		effects:         effects,
		actionsService:  actions.New(list, effects),
		ageingService:   ageing.New(d),
		claimService:    claims,
		decisionService: decision.NewService(d),
		enrolService:    agents,
		offerService:    offer.NewService(d),
		preemptService:  preempt.New(d, claims, effects),
		recoveryService: reaper,
		settingService:  setting.New(d, wake),
		stopService:     stop.New(d, wake, effects),
		reportService:   report.New(d, list, wake, tokens, agents, waiters, effects, claims, contents),
	}
}

// Transactions returns how many transactions claims and reports were answered in so far.
func (s *Service) Transactions() int64 {
	return s.claimService.Transactions() + s.reportService.Transactions()
}
