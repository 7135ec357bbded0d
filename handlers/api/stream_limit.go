package api

import (
	"sync"

	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
	"fleetboard/internal/tenancy/quota"
)

// openStreams are those of this process.
var openStreams streamLimit

// openStream takes a place for a stream. Fault: TooMany.
func openStream(who tenancy.Principal) (leave func(), err error) {
	leave, full := openStreams.enter(streamAskers(who))
	if full != nil {
		return nil, fault.New(fault.TooMany, "%d streams of this %s are open; end one of them first.", full.Most, full.What).
			With("retry_after", int(streaming.beat.Seconds()))
	}
	return leave, nil
}

// streamLimit counts the open streams of each workspace and of each asker in it. The
// zero value is ready.
type streamLimit struct {
	mu   sync.Mutex
	open map[ids.ID]int
}

// enter takes a place for each of those whom a stream counts for. full is the one that
// has none left, nil where all have. leave gives the places back.
func (l *streamLimit) enter(askers []quota.Asker) (leave func(), full *quota.Asker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, a := range askers {
		if int64(l.open[a.ID]) >= a.Most {
			return nil, &askers[i]
		}
	}
	if l.open == nil {
		l.open = map[ids.ID]int{}
	}
	for _, a := range askers {
		l.open[a.ID]++
	}
	return sync.OnceFunc(func() { l.leave(askers) }), nil
}

func (l *streamLimit) leave(askers []quota.Asker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range askers {
		if l.open[a.ID]--; l.open[a.ID] == 0 {
			delete(l.open, a.ID)
		}
	}
}

// streamAskers are those whom a stream counts for: who opens it, and the workspace. The
// agents of one enrolment token have half of the workspace's streams.
func streamAskers(who tenancy.Principal) []quota.Asker {
	mine := quota.Asker{ID: who.Token, Most: int64(streaming.perToken), What: "token"}
	workspace := quota.Asker{ID: who.Workspace, Most: int64(streaming.perWorkspace), What: "workspace"}
	if who.Kind != tenancy.KindAgent {
		return []quota.Asker{mine, workspace}
	}
	mine.ID = who.Agent
	return []quota.Asker{mine, {ID: who.Token, Most: workspace.Most / 2, What: "enrolment token"}, workspace}
}
