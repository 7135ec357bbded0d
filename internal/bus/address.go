package bus

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Kind is the kind of a sender or addressee.
type Kind string

// The kinds. Messages come from agents, people and the system.
const (
	ToAgent   Kind = "agent"
	ToRole    Kind = "role"    // one live agent of the role
	ToFactory Kind = "factory" // one agent of the factory
	ToPerson  Kind = "person"
	ToAll     Kind = "all" // each live agent
	System    Kind = "system"
)

// Address is a sender or an addressee.
type Address struct {
	Kind Kind
	Name string // of an agent, role, factory or person; "" for all
	ID   ids.ID // Nil where there is none
}

// inboxName names the inbox of one agent, person, role or factory.
func inboxName(a Address) string {
	if a.Kind == ToRole {
		return "role:" + a.Name
	}
	return string(a.Kind) + ":" + a.ID.String()
}

// isShared reports whether several readers share an inbox.
func isShared(inbox string) bool {
	return strings.HasPrefix(inbox, string(ToRole)+":") || strings.HasPrefix(inbox, string(ToFactory)+":")
}

// inboxLane returns the lane of the waitlist in which readers of an inbox wait.
func inboxLane(inbox string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(inbox))
	return int64(h.Sum64()) //nolint:gosec // only told apart
}

// sender returns the address of who sends.
func sender(who tenancy.Principal) Address {
	switch who.Kind {
	case tenancy.KindAgent:
		return Address{Kind: ToAgent, Name: who.Name, ID: who.Agent}
	case tenancy.KindPerson:
		return Address{Kind: ToPerson, Name: who.Name, ID: who.Account}
	}
	return Address{Kind: System, Name: who.Name}
}

// mayAddress refuses an addressee to whom the sender may not write; docs/concepts.md has the
// table. roles are the roles of a sender that is an agent.
func mayAddress(who tenancy.Principal, roles []string, to Address) error {
	switch who.Kind {
	case tenancy.KindSystem:
		return nil
	case tenancy.KindPerson:
		if !who.Can(tenancy.SendMessages) {
			return mayNotSend()
		}
		if to.Kind == ToAll && !who.Can(tenancy.RunFleet) {
			return fault.New(fault.Forbidden, "Only owners and admins write to all agents.")
		}
		return nil
	case tenancy.KindAgent:
		if to.Kind == ToAll && !slices.Contains(roles, tenancy.AgentOrchestrator) {
			return fault.New(fault.Forbidden, "Only orchestrators write to all agents.")
		}
		if to.Kind == ToFactory && to.Name != who.Factory && !slices.Contains(roles, tenancy.AgentOrchestrator) {
			return fault.New(fault.Forbidden, "An agent writes to its own factory; orchestrators write to each.")
		}
		return nil
	}
	return fault.New(fault.Forbidden, "Messages are for agents and people.")
}

func mayNotSend() error {
	return fault.New(fault.Forbidden, "Viewers read messages and write none.")
}
