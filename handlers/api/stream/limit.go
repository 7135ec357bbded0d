package stream

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Limits of streams.
type Limits struct {
	PerWorkspace int           // streams that a workspace may have open
	PerAsker     int           // those of one person, agent or enrolment token
	Beat         time.Duration // the longest silence; whoever sends keeps it
	Check        time.Duration // how soon a stream ends after its token, at most
	AgentCheck   time.Duration // the same of an agent's, which costs no SQL to check
	Write        time.Duration // how long the reader may take for one piece
}

// Streams counts the open streams of each workspace and of each caller in it.
type Streams struct {
	Limits

	open *quota.Seats
}

// New returns a count of no streams.
func New(l Limits) *Streams { return &Streams{Limits: l, open: quota.NewSeats()} }

// Open takes a place for a stream, which has to be served. The limits are divided among so many
// servers. Fault: TooMany.
func (l *Streams) Open(who tenancy.Principal, servers int, end End) (*Stream, error) {
	// The agents of one enrolment token have half of the workspace's streams.
	workspace := int64(l.PerWorkspace)
	shares := quota.Shares{Asker: int64(l.PerAsker), Enrolment: workspace / 2, Workspace: workspace}.Among(servers)
	leave, full := l.open.Enter(quota.Askers(who, shares)...)
	if full != nil {
		metrics.StreamsRefused.Inc()
		return nil, fault.New(fault.TooMany, "%d streams of this %s are open; end one of them first.", full.Most, full.What).
			With("retry_after", int(l.Beat.Seconds()))
	}
	return &Stream{limits: l.Limits, who: who, end: end, leave: leave}, nil
}
