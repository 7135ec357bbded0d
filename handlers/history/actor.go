package history

import (
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/events"
)

// actorKinds are the icon, the word and the mark of each kind of actor.
var actorKinds = map[tenancy.Kind]struct{ icon, word, mark string }{
	tenancy.KindPerson:    {"user", "Person", "person"},
	tenancy.KindAgent:     {"bot", "Agent", "agent"},
	tenancy.KindEnrolment: {"key-round", "Enrolment token", "token"},
	tenancy.KindSystem:    {"settings", "System", "system"},
}

// markLength is how much of a person's id stands beside the name.
const markLength = 6

// Actor shows who did something. Of people of one name the end of the id
// says who it was; of the others the kind is said.
func Actor(a tenancy.Actor) events.Actor {
	kind := actorKinds[a.Kind]
	m := events.Actor{Name: a.Name, Icon: kind.icon, Title: kind.word, Mark: kind.mark}
	if a.ID != "" {
		m.Title += " " + a.ID
	}
	if a.Kind == tenancy.KindPerson && a.ID != "" {
		m.Mark += " " + a.ID[max(0, len(a.ID)-markLength):]
	}
	return m
}

// ActorFilter returns what finds all that an actor did, also under other names. Events
// of versions that kept no ids are found by the name.
func ActorFilter(a tenancy.Actor) string {
	if a.ID == "" {
		return a.Name
	}
	return a.ID
}

// ActorNamed returns a filter's actor in words: of an id the newest name and its mark.
func ActorNamed(filter string, events []eventlog.Event) string {
	for _, e := range events {
		if e.Actor.ID == filter {
			m := Actor(e.Actor)
			return m.Name + " (" + m.Mark + ")"
		}
	}
	return filter
}
