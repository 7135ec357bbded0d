package waitlist

import (
	"sync"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// How many claims and reads of inboxes may wait, divided among the servers: of one agent, as many as it
// may have jobs, and as many of one person; of all agents of one enrolment token; and of a
// workspace. Each takes about 32 KB.
const (
	MaxAgentClaims     = 100
	MaxEnrolmentClaims = 10_000
	MaxWorkspaceClaims = 2 * MaxEnrolmentClaims
)

var shares = quota.Shares{Asker: MaxAgentClaims, Enrolment: MaxEnrolmentClaims, Workspace: MaxWorkspaceClaims}

// Admit counts one more call that waits; leave takes it back. Fault: TooMany.
func (w *List) Admit(who tenancy.Principal) (leave func(), err error) {
	left, full := w.waits.Enter(quota.Askers(who, shares.Among(w.Servers.Count()))...)
	if full != nil {
		return nil, fault.New(fault.TooMany, "%d calls of this %s wait already. Wait for the answer to one of them.", full.Most, full.What)
	}
	metrics.ClaimsWaiting.Inc()
	return sync.OnceFunc(func() {
		metrics.ClaimsWaiting.Dec()
		left()
	}), nil
}
