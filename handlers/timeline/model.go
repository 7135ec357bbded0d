package timeline

import (
	"net/url"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/handlers/history"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/views/events"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/timeline"
	"github.com/fleetboard/fleetboard/views/ui"
)

var timelineGroups = []history.Group{
	{Label: "All"},
	{Name: "jobs", Label: "Jobs", Types: []eventlog.Type{"job.*"}},
	{Name: "review", Label: "Review", Types: []eventlog.Type{eventlog.JobHandedIn, eventlog.JobApproved, eventlog.JobRejected,
		eventlog.JobCommented, eventlog.JobCommentEdited, eventlog.JobCommentResolved, eventlog.JobCommentReopened,
		eventlog.JobCommentsAnswered, eventlog.JobVerdictGiven,
		eventlog.JobPolicyHeld, eventlog.JobMerged, eventlog.JobMergeFailed, eventlog.JobMergeHeld,
		eventlog.JobPullRequestOpened, eventlog.JobDelivered, eventlog.JobDeliveryRefused}},
	{Name: "recovery", Label: "Recovery", Types: []eventlog.Type{eventlog.JobLost, eventlog.JobWarned, eventlog.JobTimedOut,
		eventlog.JobReleased, eventlog.JobPreempted, eventlog.JobAttemptFailed, eventlog.JobFailed, eventlog.JobRetried,
		eventlog.AgentSuperseded, eventlog.AgentDied, eventlog.AgentRevived}},
	{Name: "agents", Label: "Agents", Types: []eventlog.Type{"agent.*", "provider.*"}},
	{Name: "factories", Label: "Factories", Types: []eventlog.Type{"factory.*", "fleet.*"}},
	{Name: "products", Label: "Products", Types: []eventlog.Type{"product.*"}},
	{Name: "settings", Label: "Settings", Types: []eventlog.Type{"workspace.*", "member.*", "invitation.*", "account.*", "token.*",
		"webhook.*",
		"key.*", "dispatch.*", "notifications.*"}},
}

// parseTimeline reads the timeline's query. What makes no sense narrows nothing. Validation for
// more values than a filter takes.
func parseTimeline(q url.Values) (links.TimelineFilter, error) {
	f := links.TimelineFilter{Progress: web.FilterValue(q, "progress") != "", ByJob: web.FilterValue(q, "by") == "job"}
	for name, list := range map[string]*[]string{"group": &f.Groups, "job": &f.Jobs, "actor": &f.Actors} {
		var err error
		if *list, err = web.FilterValues(q, name); err != nil {
			return f, err
		}
	}
	f.Groups = slices.DeleteFunc(f.Groups, func(name string) bool {
		return !slices.ContainsFunc(timelineGroups, func(g history.Group) bool { return g.Name == name })
	})
	return f, nil
}

// groupTypes returns the types of a filter's groups, as the log takes them.
func groupTypes(f links.TimelineFilter) []string {
	var list []string
	for _, g := range timelineGroups {
		if slices.Contains(f.Groups, g.Name) {
			for _, t := range g.Types {
				list = append(list, string(t))
			}
		}
	}
	return list
}

// pageData is what the page is made of.
type pageData struct {
	filter links.TimelineFilter
	events []eventlog.Event
	titles map[ids.ID]string // of their jobs
	fleet  fleet.Snapshot
	older  string // place before the last of them, "" after the first event of the log
	past   bool   // it is not the newest part
	noJob  string // a key of the filter that no job has
	now    time.Time
}

func (s pageData) model() view.Timeline {
	m := view.Timeline{Keep: web.KeepFields(links.TimelineWith(s.filter)), Older: s.past,
		NewURL: links.TimelineWith(s.filter), ClearURL: links.Timeline, Active: s.active(), Items: s.items()}
	for _, g := range timelineGroups {
		to, on := s.filter, slices.Contains(s.filter.Groups, g.Name)
		if g.Name == "" {
			to.Groups, on = nil, len(to.Groups) == 0
		} else {
			to.Groups = links.Toggle(to.Groups, g.Name)
		}
		m.Groups = append(m.Groups, ui.FilterOption{Label: g.Label, URL: links.TimelineWith(to), Selected: on})
	}
	progress, byJob := s.filter, s.filter
	progress.Progress, byJob.ByJob = !progress.Progress, !byJob.ByJob
	m.Views = []ui.FilterOption{{Label: "Progress", URL: links.TimelineWith(progress), Selected: s.filter.Progress},
		{Label: "By job", URL: links.TimelineWith(byJob), Selected: s.filter.ByJob}}
	if len(s.events) == 0 {
		m.Empty = s.empty()
	}
	m.Jobs, m.Actors = s.jobs(), s.actors()
	return m
}

// jobs are suggested to the filter: those that the page speaks of.
func (s pageData) jobs() (list []view.Suggestion) {
	for _, e := range s.events {
		if e.JobID != nil {
			list = suggest(list, view.Suggestion{Value: e.JobKey, Label: s.titles[*e.JobID]})
		}
	}
	return list
}

// actors are suggested to the filter: those of the page, and all agents.
func (s pageData) actors() (list []view.Suggestion) {
	for _, e := range s.events {
		list = suggest(list, view.Suggestion{Value: e.Actor.Name, Label: history.Actor(e.Actor).Mark})
	}
	for _, f := range s.fleet.Factories {
		for _, a := range f.Agents {
			list = suggest(list, view.Suggestion{Value: a.Name, Label: "agent on " + f.Name})
		}
	}
	return list
}

// maxSuggested is how many values a field suggests.
const maxSuggested = 200

// suggest adds a value that is not there yet.
func suggest(list []view.Suggestion, one view.Suggestion) []view.Suggestion {
	known := func(s view.Suggestion) bool { return s.Value == one.Value }
	if one.Value == "" || len(list) == maxSuggested || slices.ContainsFunc(list, known) {
		return list
	}
	return append(list, one)
}

// active returns the filters that are on beside the groups, which show themselves.
func (s pageData) active() []ui.ActiveFilter {
	var list []ui.ActiveFilter
	for _, job := range s.filter.Jobs {
		to := s.filter
		to.Jobs = links.Toggle(to.Jobs, job)
		list = append(list, ui.ActiveFilter{Text: "Job " + job, RemoveURL: links.TimelineWith(to)})
	}
	for _, actor := range s.filter.Actors {
		to := s.filter
		to.Actors = links.Toggle(to.Actors, actor)
		list = append(list, ui.ActiveFilter{Text: "By " + history.ActorNamed(actor, s.events), RemoveURL: links.TimelineWith(to)})
	}
	return list
}

func (s pageData) empty() *ui.Empty {
	e := &ui.Empty{Title: "No event matches", ActionLabel: "Show all events", ActionURL: links.Timeline}
	switch {
	case s.noJob != "":
		e.Title, e.Text = "There is no job "+s.noJob, "Its key may be written differently."
	case s.older != "":
		e.Title = "Nothing in this part of the log"
		e.Text = "None of the events that were looked at passes the filters. There are older ones."
	case s.past:
		e.Title = "Nothing older"
	case s.filter.IsZero():
		e.Title, e.Text = "Nothing has happened yet", "Each change of a job, an agent or a factory is written here."
		e.ActionLabel, e.ActionURL = "Go to the board", links.Board
	default:
		e.Text = "No event passes the filters that are on."
	}
	return e
}

func (s pageData) items() events.Items {
	m := events.Items{}
	if s.older != "" {
		m.OlderURL, m.OlderID = links.TimelineBefore(s.older, s.filter), "older-"+s.older
	}
	if s.filter.ByJob {
		m.Days = s.byJob()
	} else {
		m.Days = history.Days(s.events, s.now, s.event)
	}
	return m
}

// byJob puts events under their jobs, the job with the newest event first; what concerns no job
// stands together.
func (s pageData) byJob() (list []events.Day) {
	var keys []string
	of := map[string][]eventlog.Event{}
	for _, e := range s.events {
		if of[e.JobKey] == nil {
			keys = append(keys, e.JobKey)
		}
		of[e.JobKey] = append(of[e.JobKey], e)
	}
	for _, key := range keys {
		one := events.Day{Heading: "Fleet and settings"}
		if first := of[key][0]; first.JobID != nil {
			one.Heading, one.Key, one.URL = s.titles[*first.JobID], key, links.Job(key)
		}
		for _, day := range history.Days(of[key], s.now, s.event) {
			one.Events = append(one.Events, day.Events...)
		}
		list = append(list, one)
	}
	return list
}

func (s pageData) event(e eventlog.Event) events.Event {
	m := history.Line(e)
	to := s.filter
	to.Actors = []string{history.ActorFilter(e.Actor)}
	m.Who.URL = links.TimelineWith(to)
	if s.filter.ByJob {
		m.At, m.Key = ui.Day(e.At), ""
		return m
	}
	// A new job's line ends with its title; the filter of one job names it once.
	if e.JobID != nil && e.Type != eventlog.JobCreated && len(s.filter.Jobs) != 1 {
		m.Title = s.titles[*e.JobID]
	}
	return m
}
