package bus

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// messageTypes are the types of events that are sent as messages, each with the type of message.
var messageTypes = map[eventlog.Type]string{
	eventlog.JobClaimed: TaskClaim, eventlog.JobCompleted: TaskDone, eventlog.JobHandedIn: ReviewRequest,
	eventlog.JobAttemptFailed: TaskFailed, eventlog.JobFailed: TaskFailed, eventlog.JobAsked: TaskBlocked, eventlog.JobBlocked: TaskBlocked,
	eventlog.JobApproved: ReviewResult, eventlog.JobRejected: ReviewResult,
	eventlog.AgentRegistered: AgentStarted, eventlog.AgentTerminated: AgentStopped, eventlog.AgentDied: AgentStopped,
	eventlog.AgentEnded: AgentStopped,
}

// sentToPeople are the types of messages that are sent to a person who submitted the job; the rest
// people see on the board.
var sentToPeople = map[string]bool{ReviewRequest: true, TaskFailed: true, TaskBlocked: true}

// isRoutine reports whether an event adds nothing to the thread of a job: who took it, that it is
// done, its other steps, and agents that start and stop.
func isRoutine(kind string, e eventlog.Event) bool {
	switch kind {
	case TaskClaim, TaskDone, AgentStarted, AgentStopped:
		return true
	case StateChange:
		return !slices.ContainsFunc(e.Changes, func(c eventlog.Change) bool { return textFields[c.Field] })
	}
	return false
}

// routineEvents are the types of events that are always routine. Most events of a job are of these
// types: they are not even read where nobody would get them.
var routineEvents = []string{
	string(eventlog.JobCreated), string(eventlog.JobPromoted), string(eventlog.JobHeld), string(eventlog.JobClaimed),
	string(eventlog.JobStarted), string(eventlog.JobProgressed), string(eventlog.JobCompleted),
}

// textFields are the fields whose new text a notice has.
var textFields = map[string]bool{"question": true, "answer": true, "feedback": true, "last_error": true}

// draftNotices returns the messages of events. Where no orchestrator is live, routine events are
// sent to agents that submitted the job and to nobody else: the log has them. The result of a
// review is also sent to the factory that handed the work in, whichever agents it has now.
func draftNotices(ctx context.Context, tx db.Tx, workspace ids.ID, events []eventlog.Event, orchestrated bool) ([]Draft, error) {
	var jobs []ids.ID
	for _, e := range events {
		if e.JobID != nil {
			jobs = append(jobs, *e.JobID)
		}
	}
	submitters, err := submittersTx(ctx, tx, workspace, jobs)
	if err != nil {
		return nil, err
	}
	long, err := longTexts(ctx, tx, workspace, events)
	if err != nil {
		return nil, err
	}
	factories, err := factoriesTx(ctx, tx, workspace, reviewResults(events))
	if err != nil {
		return nil, err
	}
	expires := time.Now().Add(noticeLife)
	var list []Draft
	for _, e := range events {
		kind := noticeType(e)
		if kind == "" || e.JobID != nil && e.JobKey == "" { // nothing to send, or the job is gone
			continue
		}
		payload, err := noticePayload(e, long)
		if err != nil {
			return nil, err
		}
		factory, handedIn := factories[e.Cursor]
		if handedIn {
			to := Address{Kind: ToFactory, Name: factory}
			list = append(list, Draft{ID: ids.New(), Type: kind, To: to, Job: e.JobKey, Payload: payload, ExpiresAt: &expires})
		}
		to := Address{Kind: ToRole, Name: tenancy.AgentOrchestrator}
		if e.JobID != nil {
			to = chooseAddressee(submitters[*e.JobID], kind)
		}
		if to.Kind == ToRole && !orchestrated && (handedIn || isRoutine(kind, e)) {
			continue
		}
		list = append(list, Draft{ID: ids.New(), Type: kind, To: to, Job: e.JobKey, Payload: payload, ExpiresAt: &expires})
	}
	return list, nil
}

// reviewResults returns the events with the result of a review.
func reviewResults(events []eventlog.Event) (list []eventlog.Event) {
	for _, e := range events {
		if messageTypes[e.Type] == ReviewResult && e.JobID != nil && e.Epoch != nil {
			list = append(list, e)
		}
	}
	return list
}

// chooseAddressee returns the addressee of a job's notices: who submitted it, else the orchestrators.
func chooseAddressee(by tenancy.Actor, kind string) Address {
	switch {
	case by.Kind == tenancy.KindAgent:
		return Address{Kind: ToAgent, Name: by.Name}
	case by.Kind == tenancy.KindPerson && sentToPeople[kind]:
		return Address{Kind: ToPerson, Name: by.ID}
	}
	return Address{Kind: ToRole, Name: tenancy.AgentOrchestrator}
}

// noticeType returns the type of an event's notice; "" where it has none.
func noticeType(e eventlog.Event) string {
	if kind, ok := messageTypes[e.Type]; ok {
		return kind
	}
	if e.JobID == nil {
		return ""
	}
	for _, c := range e.Changes {
		if c.Field == "status" || c.Field == "answer" {
			return StateChange
		}
	}
	return ""
}

// noticePayload returns the payload of an event's notice: the event, its actor, and the facts and
// changes that readers need. Long texts are cut; the log has them.
func noticePayload(e eventlog.Event, long map[string]json.RawMessage) (json.RawMessage, error) {
	payload := map[string]any{"event": e.Type, "event_id": e.Cursor.String(), "actor": e.Actor.Name}
	var facts map[string]any
	if json.Unmarshal(e.Payload, &facts) == nil {
		for _, name := range []string{"reason", "error", "commit", "url", "agent", "factory", "head"} {
			if text, ok := facts[name].(string); ok && text != "" {
				payload[name] = redact.Cut(text, maxNoticeText)
			}
		}
	}
	for _, c := range e.Changes {
		switch {
		case c.Field == "status":
			payload["from"] = c.Old
			payload["to"] = c.New
		case textFields[c.Field]:
			text, _ := c.New.(string)
			if body, kept := long[c.NewSHA256]; kept && json.Unmarshal(body, &text) != nil {
				text = ""
			}
			if text != "" {
				payload[c.Field] = redact.Cut(text, maxNoticeText)
			}
		}
	}
	return json.Marshal(payload)
}

// longTexts returns the texts that are stored outside of the events, by their SHA-256.
func longTexts(ctx context.Context, tx db.Tx, workspace ids.ID, events []eventlog.Event) (map[string]json.RawMessage, error) {
	var sums []string
	for _, e := range events {
		for _, c := range e.Changes {
			if c.NewSHA256 != "" && textFields[c.Field] {
				sums = append(sums, c.NewSHA256)
			}
		}
	}
	return eventlog.ContentsTx(ctx, tx, workspace, sums)
}
