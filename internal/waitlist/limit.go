package waitlist

import (
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// How many claims may wait in one process: of one agent, as many as it may have jobs,
// and of all agents of one enrolment token. Each takes about 32 KB.
const (
	MaxAgentClaims     = 100
	MaxEnrolmentClaims = 10_000
)

// Admit counts one more claim that waits; leave takes it back. Fault: TooMany.
func (w *List) Admit(who tenancy.Principal) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.claims[who.Agent] >= MaxAgentClaims:
		return nil, fault.New(fault.TooMany, "%d claims of this agent wait already. Wait for the answer to one of them.",
			MaxAgentClaims)
	case w.claims[who.Token] >= MaxEnrolmentClaims:
		return nil, fault.New(fault.TooMany, "%d claims of agents of this enrolment token wait already. Wait for one of them.",
			MaxEnrolmentClaims)
	}
	w.claims[who.Agent]++
	w.claims[who.Token]++
	return func() { w.dismiss(who.Agent, who.Token) }, nil
}

func (w *List) dismiss(askers ...ids.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range askers {
		if w.claims[id]--; w.claims[id] == 0 {
			delete(w.claims, id)
		}
	}
}
