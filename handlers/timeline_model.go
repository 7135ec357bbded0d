package handlers

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"fleetboard/internal/eventlog"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// timelineGroup is a group of types of events that the timeline can be
// narrowed to.
type timelineGroup struct {
	name, label string
	types       []eventlog.Type
}

var timelineGroups = []timelineGroup{
	{label: "All"},
	{name: "jobs", label: "Jobs", types: []eventlog.Type{"job.*"}},
	{name: "review", label: "Review", types: []eventlog.Type{eventlog.JobHandedIn, eventlog.JobApproved, eventlog.JobRejected,
		eventlog.JobMerged, eventlog.JobMergeFailed}},
	{name: "recovery", label: "Recovery", types: []eventlog.Type{eventlog.JobLost, eventlog.JobWarned, eventlog.JobTimedOut,
		eventlog.JobReleased, eventlog.JobAttemptFailed, eventlog.JobFailed, eventlog.JobRetried, eventlog.AgentSuperseded,
		eventlog.AgentDied, eventlog.AgentRevived}},
	{name: "agents", label: "Agents", types: []eventlog.Type{"agent.*"}},
	{name: "factories", label: "Factories", types: []eventlog.Type{"factory.*"}},
	{name: "products", label: "Products", types: []eventlog.Type{"product.*"}},
	{name: "settings", label: "Settings", types: []eventlog.Type{"workspace.*", "member.*", "invitation.*", "account.*", "token.*",
		"key.*"}},
}

func groupNamed(name string) timelineGroup {
	at := slices.IndexFunc(timelineGroups, func(g timelineGroup) bool { return g.name == name })
	return timelineGroups[max(0, at)]
}

// parseTimeline reads the timeline's query. What makes no sense narrows nothing.
func parseTimeline(q url.Values) links.TimelineFilter {
	value := func(name string) string { return filterValue(q, name) }
	return links.TimelineFilter{Group: groupNamed(value("group")).name, Job: value("job"), Actor: value("actor")}
}

// typesOf are the types of a filter's group, as the log takes them.
func typesOf(f links.TimelineFilter) []string {
	var list []string
	for _, t := range groupNamed(f.Group).types {
		list = append(list, string(t))
	}
	return list
}

// timelineSheet is what the page is made of.
type timelineSheet struct {
	filter links.TimelineFilter
	events []eventlog.Event
	older  string // place before the last of them, "" after the first event of the log
	past   bool   // it is not the newest part
	noJob  bool   // there is no job with the filter's key
	now    time.Time
}

func (s timelineSheet) model() views.Timeline {
	m := views.Timeline{Group: s.filter.Group, Job: s.filter.Job, Actor: s.filter.Actor, Older: s.past,
		NewURL: links.TimelineWith(s.filter), ClearURL: links.Timeline, Active: s.active(), Items: s.items()}
	for _, g := range timelineGroups {
		to := s.filter
		to.Group = g.name
		m.Groups = append(m.Groups, views.FilterOption{Label: g.label, URL: links.TimelineWith(to), Selected: g.name == s.filter.Group})
	}
	if len(s.events) == 0 {
		m.Empty = s.empty()
	}
	return m
}

// active are the filters that are on beside the group, which shows itself.
func (s timelineSheet) active() []views.ActiveFilter {
	var list []views.ActiveFilter
	if s.filter.Job != "" {
		to := s.filter
		to.Job = ""
		list = append(list, views.ActiveFilter{Text: "Job " + s.filter.Job, RemoveURL: links.TimelineWith(to)})
	}
	if s.filter.Actor != "" {
		to := s.filter
		to.Actor = ""
		list = append(list, views.ActiveFilter{Text: "By " + actorNamed(s.filter.Actor, s.events), RemoveURL: links.TimelineWith(to)})
	}
	return list
}

func (s timelineSheet) empty() *ui.Empty {
	e := &ui.Empty{Title: "No event matches", ActionLabel: "Show all events", ActionURL: links.Timeline}
	switch {
	case s.noJob:
		e.Title, e.Text = "There is no job "+s.filter.Job, "Its key may be written differently."
	case s.older != "":
		e.Title, e.Text = "Nothing in this part of the log", "None of the events that were looked at passes the filters. There are older ones."
	case s.past:
		e.Title = "Nothing older"
	case s.filter == links.TimelineFilter{}:
		e.Title, e.Text = "Nothing has happened yet", "Each change of a job, an agent or a factory is written here."
		e.ActionLabel, e.ActionURL = "Go to the board", links.Board
	default:
		e.Text = "No event passes the filters that are on."
	}
	return e
}

func (s timelineSheet) items() views.TimelineItems {
	m := views.TimelineItems{}
	if s.older != "" {
		m.OlderURL, m.OlderID = links.TimelineBefore(s.older, s.filter), "older-"+s.older
	}
	m.Days = daysOf(s.events, s.now, s.event)
	return m
}

// daysOf puts events, the newest first, under the headings of their days.
func daysOf(events []eventlog.Event, now time.Time, line func(eventlog.Event) views.TimelineEvent) (days []views.TimelineDay) {
	for _, e := range events {
		heading := dayHeading(e.At, now)
		if n := len(days); n == 0 || days[n-1].Heading != heading {
			days = append(days, views.TimelineDay{Heading: heading})
		}
		day := &days[len(days)-1]
		day.Events = append(day.Events, line(e))
	}
	return days
}

// dayHeading names a day of UTC; static/js/timeline.js says the same of the
// reader's days.
func dayHeading(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	midnight := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	switch midnight(now).Sub(midnight(at)) {
	case 0:
		return "Today"
	case 24 * time.Hour:
		return "Yesterday"
	}
	if at.Year() != now.Year() {
		return at.Format("Monday 2 January 2006")
	}
	return at.Format("Monday 2 January")
}

// badEvents are facts that somebody may have to look at.
var badEvents = []eventlog.Type{eventlog.JobLost, eventlog.JobTimedOut, eventlog.JobAttemptFailed, eventlog.JobFailed,
	eventlog.JobMergeFailed, eventlog.AgentTerminated, eventlog.AgentDied, eventlog.AgentCutOff}

func (s timelineSheet) event(e eventlog.Event) views.TimelineEvent {
	m := eventLine(e)
	to := s.filter
	to.Actor = actorFilter(e.Actor)
	m.Who.URL = links.TimelineWith(to)
	return m
}

// eventLine is an event's line on a page, without the address of its actor.
func eventLine(e eventlog.Event) views.TimelineEvent {
	m := views.TimelineEvent{ID: e.ID, At: ui.At(e.At), Kind: eventKind(e.Type), Bad: slices.Contains(badEvents, e.Type),
		Text: eventText(e), Who: actorModel(e.Actor)}
	if e.JobKey != "" {
		m.Key, m.KeyURL = e.JobKey, links.Job(e.JobKey)
	}
	if e.Epoch != nil {
		m.Tag = "e" + strconv.FormatInt(*e.Epoch, 10)
	}
	m.From, m.To = statusChange(e)
	m.Changes, m.More = changedFields(e)
	return m
}

// maxChanges is how many changed fields a line shows.
const maxChanges = 3

// toldFields are told by an event's sentence or its statuses.
var toldFields = []string{"status", "wait_reason", "blocked_reason", "question", "answer", "feedback", "link", "directive",
	"draining", "progress_percent", "current_step", "checkpoint", "not_before", "role", "name",
	"result", "last_error", "failure_kind", "files_touched", "approved_head", "merged_commit", "url"}

// changedFields are the other fields that an event changed. A new job has all of
// them from its beginning; that is no news.
func changedFields(e eventlog.Event) (list []views.FieldChange, more string) {
	if e.Type == eventlog.JobCreated || e.Type == eventlog.JobRecorded {
		return nil, ""
	}
	for _, c := range e.Changes {
		if slices.Contains(toldFields, c.Field) && (e.Type != eventlog.JobEdited || c.Field == "status" || c.Field == "wait_reason") {
			continue
		}
		list = append(list, views.FieldChange{Field: fieldName(c.Field), Was: toldValue(c, c.Old, c.OldSHA256), Now: toldValue(c, c.New, c.NewSHA256)})
	}
	if n := len(list) - maxChanges; n > 0 {
		return list[:maxChanges], strconv.Itoa(n) + " more"
	}
	return list, ""
}
