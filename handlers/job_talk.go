package handlers

import (
	"encoding/json"
	"time"

	"fleetboard/internal/eventlog"
	"fleetboard/internal/jobs"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// said are the events in which agents and people say something to one another:
// their icon, the words before the name, and the field with the text.
var said = map[eventlog.Type]struct{ icon, what, field string }{
	eventlog.JobAsked:       {"message-circle-question-mark", "Asked by ", "question"},
	eventlog.JobAnswered:    {"reply", "Answered by ", "answer"},
	eventlog.JobRejected:    {"undo-2", "Sent back by ", "reason"},
	eventlog.JobMergeFailed: {"git-merge", "Merge failed, says ", "reason"},
}

// feedbackModel is what somebody said about a job.
func feedbackModel(e eventlog.Event, now time.Time) views.Feedback {
	kind := said[e.Type]
	return views.Feedback{Icon: kind.icon, What: kind.what + e.Actor.Name, At: ui.Ago(e.At, now), Text: wordsIn(e, kind.field)}
}

// wordsIn is a text that an event carries: in its payload, else as the new value
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

// addTalk puts what was said below the attempt that it is about: the last one
// that had begun by then. Attempts come newest first, in the order of the sheet.
func (s jobSheet) addTalk(attempts []views.Attempt) {
	for i := len(s.talk) - 1; i >= 0; i-- {
		e := s.talk[i]
		for at, a := range s.attempts {
			if !a.ClaimedAt.After(e.At) {
				attempts[at].Talk = append(attempts[at].Talk, feedbackModel(e, s.now))
				break
			}
		}
	}
}

// question is what the last attempt asked, with its answer or the address that
// takes one; nil where nothing is open and the next attempt has begun.
func (s jobSheet) question() *views.Question {
	j := s.job
	if j.Question == "" || j.Lease != nil || j.Status.Finished() {
		return nil
	}
	q := &views.Question{Agent: "The agent", Text: j.Question, Asked: ui.Ago(j.StatusAt, s.now), Answer: j.Answer, By: "A person"}
	for i := len(s.talk) - 1; i >= 0; i-- {
		switch e := s.talk[i]; e.Type {
		case eventlog.JobAsked:
			q.Agent, q.Asked = e.Actor.Name, ui.Ago(e.At, s.now)
		case eventlog.JobAnswered:
			q.By, q.Answered = e.Actor.Name, ui.Ago(e.At, s.now)
		}
	}
	if s.canWrite && j.Status == jobs.Blocked && j.Answer == "" {
		q.URL, q.Version = links.JobAction(j.Key, string(jobs.ByAnswer)), j.Version
	}
	return q
}
