package handlers

import (
	"net/url"
	"slices"
	"time"

	"fleetboard/internal/eventlog"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// auditGroups are the kinds that the audit can be narrowed to.
var auditGroups = []timelineGroup{
	{label: "All"},
	{name: "members", label: "Members", types: []eventlog.Type{"member.*", "invitation.*"}},
	{name: "accounts", label: "Accounts", types: []eventlog.Type{"account.*"}},
	{name: "tokens", label: "Tokens", types: []eventlog.Type{"token.*", eventlog.AgentCutOff}},
	{name: "products", label: "Products", types: []eventlog.Type{"product.*"}},
	{name: "fleet", label: "Fleet", types: []eventlog.Type{"factory.*", "agent.*"}},
	{name: "workspace", label: "Workspace", types: []eventlog.Type{"workspace.*"}},
	{name: "keys", label: "Encryption", types: []eventlog.Type{"key.*"}},
}

func auditGroupNamed(name string) timelineGroup {
	at := slices.IndexFunc(auditGroups, func(g timelineGroup) bool { return g.name == name })
	return auditGroups[max(0, at)]
}

// parseAudit reads the audit's query. What makes no sense narrows nothing.
func parseAudit(q url.Values) links.AuditFilter {
	return links.AuditFilter{Group: auditGroupNamed(q.Get("group")).name, Actor: filterValue(q, "actor")}
}

// auditSheet is what the page is made of.
type auditSheet struct {
	filter links.AuditFilter
	events []eventlog.Event
	older  string // place before the last of them, "" after the first one
	past   bool   // it is not the newest part
	now    time.Time
}

// log is the filter as the log takes it.
func (s auditSheet) log() eventlog.Filter {
	f := eventlog.Filter{Actor: s.filter.Actor}
	for _, t := range auditGroupNamed(s.filter.Group).types {
		f.Types = append(f.Types, string(t))
	}
	return f
}

func (s auditSheet) model() views.Audit {
	m := views.Audit{Group: s.filter.Group, Actor: s.filter.Actor, Older: s.past, NewURL: links.AuditWith(s.filter)}
	for _, g := range auditGroups {
		to := s.filter
		to.Group = g.name
		m.Groups = append(m.Groups, views.FilterOption{Label: g.label, URL: links.AuditWith(to), Selected: g.name == s.filter.Group})
	}
	if s.filter.Actor != "" {
		to := s.filter
		to.Actor = ""
		m.Active = append(m.Active, views.ActiveFilter{Text: "By " + actorNamed(s.filter.Actor, s.events), RemoveURL: links.AuditWith(to)})
	}
	m.Items.Days = daysOf(s.events, s.now, s.line)
	if s.older != "" {
		m.Items.OlderURL, m.Items.OlderID = links.AuditBefore(s.older, s.filter), "older-"+s.older
	}
	if len(s.events) == 0 {
		m.Empty = s.empty()
	}
	return m
}

// line is a line of the timeline whose actor leads to what else that person did
// here.
func (s auditSheet) line(e eventlog.Event) views.TimelineEvent {
	m := eventLine(e)
	to := s.filter
	to.Actor = actorFilter(e.Actor)
	m.Who.URL = links.AuditWith(to)
	return m
}

func (s auditSheet) empty() *ui.Empty {
	e := &ui.Empty{Title: "No change matches", Text: "Nobody did anything that passes the filters that are on.",
		ActionLabel: "Show all changes", ActionURL: links.Audit}
	switch {
	case s.past:
		e.Title, e.Text = "Nothing older", ""
	case s.filter == links.AuditFilter{}:
		e.Title, e.Text = "Nothing was changed yet", "Who invites people, makes tokens or changes a product is written here."
		e.ActionLabel, e.ActionURL = "", ""
	}
	return e
}
