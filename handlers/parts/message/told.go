package message

import (
	"encoding/json"
	"strings"

	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// event is what the server's message says of an event.
type event struct {
	Actor     string
	From, To  string // statuses
	Question  string
	Answer    string
	Feedback  string
	Error     string
	LastError string `json:"last_error"`
	Reason    string
	Commit    string
	URL       string
}

// Told returns what a message of the server says of an event, for people: who did it and what
// became of the job, and below what was said with it. It is "" for other messages.
func Told(m bus.Message) string {
	var e event
	if m.From.Kind != bus.System || json.Unmarshal(m.Payload, &e) != nil || e.Actor == "" {
		return ""
	}
	lines := []string{e.Actor + ": " + e.what(m.Type)}
	failed := e.Error
	if failed == "" {
		failed = e.LastError
	}
	for _, said := range []struct{ name, text string }{{"Question", e.Question}, {"Answer", e.Answer}, {"Feedback", e.Feedback},
		{"Error", failed}, {"Reason", e.Reason}, {"Commit", e.Commit}, {"", e.URL}} {
		switch {
		case said.text == "":
		case said.name == "":
			lines = append(lines, said.text)
		default:
			lines = append(lines, said.name+": "+said.text)
		}
	}
	return strings.Join(lines, "\n")
}

// what returns the change of the job's status, or else what happened.
func (e event) what(kind string) string {
	switch {
	case e.To != "" && e.From != "":
		return jobs.Status(e.From).Word() + " → " + jobs.Status(e.To).Word()
	case e.To != "":
		return "created, " + jobs.Status(e.To).Word()
	case kind == bus.AgentStarted:
		return "started"
	case kind == bus.AgentStopped:
		return "stopped"
	case e.Answer != "":
		return "answered"
	}
	return strings.ReplaceAll(kind, "_", " ")
}
