package handlers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fleetboard/internal/eventlog"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// history are the shown events with the link to older ones, and the note at the
// panel's head.
func (s jobSheet) history() ([]views.Event, string) {
	shown := s.events[:min(len(s.events), eventPage)]
	more := len(s.events) > eventPage
	list := make([]views.Event, 0, len(shown)+1)
	for _, e := range shown {
		list = append(list, eventModel(e, s.now))
	}
	if more {
		older := links.Job(s.job.Key) + "?before=" + strconv.FormatInt(shown[len(shown)-1].ID, 10) + "#events"
		list = append(list, views.Event{Kind: "older", Text: ui.Say(ui.Link("Show older events", older))})
	}
	switch {
	case s.before > 0:
		return list, strconv.Itoa(len(shown)) + " older"
	case more:
		return list, "newest " + strconv.Itoa(eventPage)
	default:
		return list, strconv.Itoa(len(shown))
	}
}

// eventKinds are the words for the facts; other ones are shown by their name.
var eventKinds = map[eventlog.Type]string{
	eventlog.JobCreated: "created", eventlog.JobEdited: "edited", eventlog.JobPromoted: "ready", eventlog.JobHeld: "held",
	eventlog.JobBlocked: "blocked", eventlog.JobUnblocked: "unblocked", eventlog.JobPaused: "paused", eventlog.JobResumed: "resumed",
	eventlog.JobClaimed: "claimed", eventlog.JobStarted: "started", eventlog.JobProgressed: "progress", eventlog.JobReleased: "given back",
	eventlog.JobLost: "lease lost", eventlog.JobAttemptFailed: "attempt failed", eventlog.JobAsked: "asked",
	eventlog.JobHandedIn: "handed in", eventlog.JobCompleted: "completed", eventlog.JobFailed: "failed",
	eventlog.JobApproved: "approved", eventlog.JobRejected: "sent back", eventlog.JobMerged: "merged", eventlog.JobMergeFailed: "merge failed",
	eventlog.JobCancelRequested: "cancel asked", eventlog.JobPauseRequested: "pause asked", eventlog.JobCancelled: "cancelled",
	eventlog.JobRetried: "retried", eventlog.JobArchived: "archived",
}

func eventModel(e eventlog.Event, now time.Time) views.Event {
	m := views.Event{ID: e.ID, At: ui.At(e.At), Kind: eventKinds[e.Type], Who: e.Actor}
	if now.Sub(e.At) >= 24*time.Hour {
		m.At = ui.Day(e.At)
	}
	if m.Kind == "" {
		m.Kind = strings.TrimPrefix(string(e.Type), "job.")
	}
	if e.Epoch != nil {
		m.Tag = "e" + strconv.FormatInt(*e.Epoch, 10)
	}
	for _, c := range e.Changes {
		if c.Field == "status" {
			m.From, m.To = statusValue(c.Old), statusValue(c.New)
		}
	}
	m.Text = ui.Text(eventText(e))
	return m
}

func statusValue(v any) ui.Status {
	text, _ := v.(string)
	return ui.Status(text)
}

// eventText is what an event says beside the change of status.
func eventText(e eventlog.Event) string {
	switch e.Type {
	case eventlog.JobProgressed:
		return progressText(e.Changes)
	case eventlog.JobEdited:
		return editedText(e.Changes)
	case eventlog.JobCancelRequested, eventlog.JobPauseRequested:
		return "the agent has 60 seconds to answer"
	case eventlog.JobCreated:
		return ""
	}
	var payload map[string]any
	if json.Unmarshal(e.Payload, &payload) != nil {
		return ""
	}
	for _, name := range []string{"reason", "error", "question", "commit", "url"} {
		if text, ok := payload[name].(string); ok && text != "" {
			return firstLine(text, maxQuote)
		}
	}
	if e.Type == eventlog.JobBlocked {
		for _, c := range e.Changes {
			if text, ok := c.New.(string); ok && c.Field == "blocked_reason" {
				return firstLine(text, maxQuote)
			}
		}
	}
	return ""
}

func progressText(changes []eventlog.Change) string {
	var parts []string
	for _, c := range changes {
		switch c.Field {
		case "progress_percent":
			text := fmt.Sprintf("%v%%", c.New)
			if c.Old != nil {
				text += fmt.Sprintf(", was %v%%", c.Old)
			}
			parts = append(parts, text)
		case "current_step":
			if step, ok := c.New.(string); ok {
				parts = append(parts, firstLine(step, maxQuote))
			}
		case "checkpoint":
			parts = append(parts, "checkpoint kept")
		}
	}
	return strings.Join(parts, " · ")
}

func editedText(changes []eventlog.Change) string {
	var fields []string
	for _, c := range changes {
		if c.Field != "status" && c.Field != "wait_reason" {
			fields = append(fields, strings.ReplaceAll(c.Field, "_", " "))
		}
	}
	return and(fields)
}
