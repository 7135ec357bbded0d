package job

import (
	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// addTalk puts what was said below the attempt that it is about: the last one
// that had begun by then. Attempts come newest first, in the order of the sheet.
func (s pageData) addTalk(attempts []view.Attempt) {
	for i := len(s.Conversation) - 1; i >= 0; i-- {
		e := s.Conversation[i]
		for at, a := range s.Attempts {
			if !a.ClaimedAt.After(e.At) {
				attempts[at].Talk = append(attempts[at].Talk, jobparts.Feedback(e, s.now))
				break
			}
		}
	}
}

// question returns what the last attempt asked, with its answer or the address that
// takes one; nil where nothing is open and the next attempt has begun.
func (s pageData) question() *view.Question {
	j := s.job
	if j.Question == "" || j.Lease != nil || j.Status.Finished() {
		return nil
	}
	q := &view.Question{Agent: "The agent", Text: j.Question, Asked: ui.Ago(j.StatusAt, s.now), Answer: j.Answer, By: "A person"}
	for i := len(s.Conversation) - 1; i >= 0; i-- {
		switch e := s.Conversation[i]; e.Type {
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
