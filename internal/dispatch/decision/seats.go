package decision

import (
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Seats are the seats of a snapshot for some jobs, by the rules of claims.
type Seats struct {
	snapshot *Snapshot
	jobs     map[ids.ID]Job
	excluded func(Agent, Job) bool
}

// NewSeats returns the seats of a snapshot for the jobs that claims give out now. excluded says from which
// agents a rule keeps a job that the snapshot knows nothing of; nil is none.
func NewSeats(s *Snapshot, open map[ids.ID]Job, excluded func(Agent, Job) bool) *Seats {
	return &Seats{s, open, excluded}
}

// IsOpen reports whether claims give a job out now, once there is a seat for it.
func (s *Seats) IsOpen(job ids.ID) bool {
	_, open := s.jobs[job]
	return open
}

// TakeFree takes a free seat for a job that is open; false where none can run it.
func (s *Seats) TakeFree(job ids.ID) bool {
	j := s.jobs[job]
	for _, factory := range slices.Sorted(maps.Keys(s.snapshot.agents)) {
		if agent, found := s.snapshot.FindAgent(factory, j, s.excludedFrom(j)); found {
			s.snapshot.Take(factory, agent)
			return true
		}
	}
	return false
}

// CouldTake reports whether a job that is open could be given to an agent of a factory once the seat of
// one that works there is free.
func (s *Seats) CouldTake(job ids.ID, factory string, works ids.ID) bool {
	j := s.jobs[job]
	return slices.ContainsFunc(s.snapshot.agents[factory], func(a Agent) bool {
		if a.id == works {
			a.free++
		}
		a.taken--
		return a.hasSeat() && a.mayTake(j) && !s.excludes(a, j)
	})
}

// Factories returns those whose agents could run one of the jobs, whatever seats are free.
func (s *Seats) Factories(jobs []ids.ID) []ids.ID {
	var list []ids.ID
	for _, agents := range s.snapshot.agents {
		if slices.ContainsFunc(jobs, func(job ids.ID) bool {
			j := s.jobs[job]
			return slices.ContainsFunc(agents, func(a Agent) bool { return a.mayTake(j) && !s.excludes(a, j) })
		}) {
			list = append(list, agents[0].factory)
		}
	}
	return list
}

func (s *Seats) excludes(a Agent, j Job) bool { return s.excluded != nil && s.excluded(a, j) }

func (s *Seats) excludedFrom(j Job) func(Agent) bool {
	return func(a Agent) bool { return s.excludes(a, j) }
}
