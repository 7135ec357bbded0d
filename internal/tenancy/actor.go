package tenancy

import "github.com/fleetboard/fleetboard/internal/ids"

const (
	// Stop is the loop that pauses the jobs of a stop of the fleet, and lets them go on.
	Stop = "stop"
	// Preemption is the loop that asks agents to give seats to more urgent jobs.
	Preemption = "preemption"
)

// Actor says who did something, for good: names change, kind and id do not.
type Actor struct {
	Kind Kind `json:"kind"`
	// ID is an account's, an agent's or an enrolment token's id, of the system its
	// loop's name. It is empty in what was written before ids were kept.
	ID string `json:"id"`
	// Name is what the actor was called then.
	Name string `json:"name"`
}

// Actor returns the principal as logs name it.
func (p Principal) Actor() Actor {
	a := Actor{Kind: p.Kind, Name: p.Name}
	switch p.Kind {
	case KindPerson:
		a.ID = idText(p.Account)
	case KindAgent:
		a.ID = idText(p.Agent)
	case KindEnrolment:
		a.ID = idText(p.Token)
	case KindSystem:
		a.ID = p.Name
	}
	return a
}

// ParseActor returns an actor as it was stored. Loops are known by their names, also in
// what was written before ids were kept.
func ParseActor(kind, id, name string) Actor {
	if Kind(kind) == KindSystem && id == "" {
		id = name
	}
	return Actor{Kind: Kind(kind), ID: id, Name: name}
}

// Is reports whether both name the same one, whatever it was called.
func (a Actor) Is(b Actor) bool { return a.Kind == b.Kind && a.ID == b.ID }

// IsStop reports whether it is the loop of a stop of the fleet.
func (a Actor) IsStop() bool { return a.Kind == KindSystem && a.ID == Stop }

// IsPreemption reports whether it is the loop that asks for seats.
func (a Actor) IsPreemption() bool { return a.Kind == KindSystem && a.ID == Preemption }

// Credit names who decided on something, and who carried it out where that was
// somebody else: "Ada (carried out by the coordinator)". It is empty where nobody
// is known.
func Credit(decided, carriedOut Actor) string {
	text := decided.words()
	if carriedOut != (Actor{}) {
		text += " (carried out by " + carriedOut.words() + ")"
	}
	return text
}

// words returns how a sentence names an actor: a loop's name means nothing to people.
func (a Actor) words() string {
	switch a.Kind {
	case KindSystem:
		switch {
		case a.IsStop():
			return "the stop of the fleet"
		case a.IsPreemption():
			return "a more urgent job"
		}
		return "the coordinator"
	case KindEnrolment:
		return "the enrolment token " + a.Name
	}
	return a.Name
}

func idText(id ids.ID) string {
	if id == ids.Nil {
		return ""
	}
	return id.String()
}
