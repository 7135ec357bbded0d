package handlertest

import (
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Did is what a person did in settings, as the server writes it.
func (w *Workspace) Did(name string, kind eventlog.Type, payload string, changes ...eventlog.Change) {
	w.t.Helper()
	w.Logged(eventlog.Event{Type: kind, Actor: tenancy.Actor{Kind: tenancy.KindPerson, Name: name},
		Payload: []byte(payload), Changes: changes})
}
