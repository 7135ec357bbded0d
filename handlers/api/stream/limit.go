package stream

import (
	"sync"
	"time"

	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
	"fleetboard/internal/tenancy/quota"
)

// Limits of streams.
type Limits struct {
	PerWorkspace int           // streams that a workspace may have open in one process
	PerToken     int           // those of one token
	Beat         time.Duration // the longest silence; whoever sends keeps it
	Check        time.Duration // how soon a stream ends after its token, at most
	AgentCheck   time.Duration // the same of an agent's, which costs no SQL to ask about
	Write        time.Duration // how long the reader may take for one piece
}

// Streams counts the open streams of each workspace and of each asker in it.
type Streams struct {
	Limits

	mu   sync.Mutex
	open map[ids.ID]int
}

// New returns a count of no streams.
func New(l Limits) *Streams { return &Streams{Limits: l, open: map[ids.ID]int{}} }

// Open takes a place for a stream, which has to be served. Fault: TooMany.
func (l *Streams) Open(who tenancy.Principal, end End) (*Stream, error) {
	leave, full := l.enter(l.askers(who))
	if full != nil {
		return nil, fault.New(fault.TooMany, "%d streams of this %s are open; end one of them first.", full.Most, full.What).
			With("retry_after", int(l.Beat.Seconds()))
	}
	return &Stream{limits: l.Limits, who: who, end: end, leave: leave}, nil
}

// enter takes a place for each of those whom a stream counts for. full is the one that
// has none left, nil where all have. leave gives the places back.
func (l *Streams) enter(askers []quota.Asker) (leave func(), full *quota.Asker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, a := range askers {
		if int64(l.open[a.ID]) >= a.Most {
			return nil, &askers[i]
		}
	}
	for _, a := range askers {
		l.open[a.ID]++
	}
	return sync.OnceFunc(func() { l.leave(askers) }), nil
}

func (l *Streams) leave(askers []quota.Asker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range askers {
		if l.open[a.ID]--; l.open[a.ID] == 0 {
			delete(l.open, a.ID)
		}
	}
}

// askers are those whom a stream counts for: who opens it, and the workspace. The
// agents of one enrolment token have half of the workspace's streams.
func (l *Streams) askers(who tenancy.Principal) []quota.Asker {
	mine := quota.Asker{ID: who.Token, Most: int64(l.PerToken), What: "token"}
	workspace := quota.Asker{ID: who.Workspace, Most: int64(l.PerWorkspace), What: "workspace"}
	if who.Kind != tenancy.KindAgent {
		return []quota.Asker{mine, workspace}
	}
	mine.ID = who.Agent
	return []quota.Asker{mine, {ID: who.Token, Most: workspace.Most / 2, What: "enrolment token"}, workspace}
}
