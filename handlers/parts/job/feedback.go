package job

import (
	"encoding/json"
	"time"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	view "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// saidKinds are the events in which agents and people say something to one another:
// their icon, the words before the name, and the field with the text.
var saidKinds = map[eventlog.Type]struct{ icon, what, field string }{
	eventlog.JobAsked:       {"message-circle-question-mark", "Asked by ", "question"},
	eventlog.JobAnswered:    {"reply", "Answered by ", "answer"},
	eventlog.JobRejected:    {"undo-2", "Sent back by ", "reason"},
	eventlog.JobRetried:     {"rotate-cw", "Asked for more by ", "reason"},
	eventlog.JobPolicyHeld:  {"info", "Left to a person by ", "reason"},
	eventlog.JobMergeFailed: {"git-merge", "Merge failed, says ", "reason"},
}

// Feedback returns what somebody said about a job.
func Feedback(e eventlog.Event, now time.Time) view.Feedback {
	kind := saidKinds[e.Type]
	return view.Feedback{Icon: kind.icon, What: kind.what + e.Actor.Name, At: ui.Ago(e.At, now), Text: wordsIn(e, kind.field)}
}

// wordsIn returns a text that an event carries: in its payload, else as the new value
// of a field.
func wordsIn(e eventlog.Event, field string) string {
	var payload map[string]any
	if json.Unmarshal(e.Payload, &payload) == nil {
		if text, ok := payload[field].(string); ok && text != "" {
			return text
		}
	}
	for _, c := range e.Changes {
		if text, ok := c.New.(string); ok && c.Field == field {
			return text
		}
	}
	return ""
}
