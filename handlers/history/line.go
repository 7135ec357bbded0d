package history

import (
	"slices"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/views/events"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Group is a group of types of events that the timeline can be
// narrowed to.
type Group struct {
	Name, Label string
	Types       []eventlog.Type
}

// Days puts events, the newest first, under the headings of their days. Of the
// progress that one attempt reported in a row, the newest stands for the others.
func Days(list []eventlog.Event, now time.Time, line func(eventlog.Event) events.Event) (days []events.Day) {
	for len(list) > 0 {
		heading := ui.DayHeading(list[0].At, now)
		if n := len(days); n == 0 || days[n-1].Heading != heading {
			days = append(days, events.Day{Heading: heading})
		}
		one, n := line(list[0]), row(list, now)
		for _, e := range list[1:n] {
			one.Folded = append(one.Folded, line(e))
		}
		day := &days[len(days)-1]
		day.Events, list = append(day.Events, one), list[n:]
	}
	return days
}

// minFolded is from how many events on a row stands for them.
const minFolded = 3

// row returns how many events at the head of a list are one row.
func row(list []eventlog.Event, now time.Time) int {
	first, n := list[0], 1
	for n < len(list) && first.Type == eventlog.JobProgressed && list[n].Type == first.Type && list[n].JobKey == first.JobKey &&
		first.Epoch != nil && list[n].Epoch != nil && *list[n].Epoch == *first.Epoch &&
		ui.DayHeading(list[n].At, now) == ui.DayHeading(first.At, now) {
		n++
	}
	if n < minFolded {
		return 1
	}
	return n
}

// badEvents are facts that somebody may have to look at.
var badEvents = []eventlog.Type{eventlog.JobLost, eventlog.JobTimedOut, eventlog.JobAttemptFailed, eventlog.JobFailed,
	eventlog.JobMergeFailed, eventlog.JobMergeHeld, eventlog.JobDeliveryRefused, eventlog.AgentTerminated, eventlog.AgentDied,
	eventlog.AgentCutOff}

// Line returns an event's line on a page, without the address of its actor.
func Line(e eventlog.Event) events.Event {
	m := events.Event{ID: e.ID, At: ui.At(e.At), Kind: Kind(e.Type), Bad: slices.Contains(badEvents, e.Type),
		Text: Text(e), Who: Actor(e.Actor)}
	if e.JobKey != "" {
		m.Key, m.KeyURL = e.JobKey, links.Job(e.JobKey)
	}
	if e.Epoch != nil {
		m.Tag = "e" + strconv.FormatInt(*e.Epoch, 10)
	}
	m.From, m.To = StatusChange(e)
	m.Changes, m.More = changedFields(e)
	return m
}

// maxChanges is how many changed fields a line shows.
const maxChanges = 3

// toldFields are in an event's sentence or its statuses.
var toldFields = []string{"status", "wait_reason", "blocked_reason", "question", "answer", "feedback", "link", "directive",
	"draining", "progress_percent", "current_step", "checkpoint", "not_before", "role", "name",
	"result", "last_error", "failure_kind", "files_touched", "approved_head", "merged_commit", "url"}

// changedFields returns the other fields that an event changed. A new job has all of
// them from its beginning; that is no news.
func changedFields(e eventlog.Event) (list []events.FieldChange, more string) {
	if e.Type == eventlog.JobCreated || e.Type == eventlog.JobRecorded {
		return nil, ""
	}
	for _, c := range e.Changes {
		if slices.Contains(toldFields, c.Field) && (e.Type != eventlog.JobEdited || c.Field == "status" || c.Field == "wait_reason") {
			continue
		}
		list = append(list, events.FieldChange{Field: fieldName(c.Field), Was: changeValue(c, c.Old, c.OldSHA256),
			Now: changeValue(c, c.New, c.NewSHA256)})
	}
	if n := len(list) - maxChanges; n > 0 {
		return list[:maxChanges], strconv.Itoa(n) + " more"
	}
	return list, ""
}
