package settings

import (
	"net/url"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/handlers/history"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/views/events"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// auditGroups are the kinds that the audit can be narrowed to.
var auditGroups = []history.Group{
	{Label: "All"},
	{Name: "members", Label: "Members", Types: []eventlog.Type{"member.*", "invitation.*"}},
	{Name: "accounts", Label: "Accounts", Types: []eventlog.Type{"account.*"}},
	{Name: "tokens", Label: "Tokens", Types: []eventlog.Type{"token.*", eventlog.AgentCutOff}},
	{Name: "products", Label: "Products", Types: []eventlog.Type{"product.*"}},
	{Name: "fleet", Label: "Fleet", Types: []eventlog.Type{"factory.*", "agent.*", "fleet.*", "dispatch.*", "pool.*"}},
	{Name: "webhooks", Label: "Webhooks", Types: []eventlog.Type{"webhook.*"}},
	{Name: "workspace", Label: "Workspace", Types: []eventlog.Type{"workspace.*"}},
	{Name: "keys", Label: "Encryption", Types: []eventlog.Type{"key.*"}},
}

func auditGroupNamed(name string) history.Group {
	at := slices.IndexFunc(auditGroups, func(g history.Group) bool { return g.Name == name })
	return auditGroups[max(0, at)]
}

// parseAudit reads the audit's query. What makes no sense narrows nothing.
func parseAudit(q url.Values) links.AuditFilter {
	return links.AuditFilter{Group: auditGroupNamed(q.Get("group")).Name, Actor: web.FilterValue(q, "actor")}
}

// auditPageData is what the page is made of.
type auditPageData struct {
	filter links.AuditFilter
	events []eventlog.Event
	older  string // place before the last of them, "" after the first one
	past   bool   // it is not the newest part
	now    time.Time
}

// log returns the filter as the log takes it.
func (s auditPageData) log() eventlog.Filter {
	f := eventlog.Filter{Actors: web.Single(s.filter.Actor)}
	for _, t := range auditGroupNamed(s.filter.Group).Types {
		f.Types = append(f.Types, string(t))
	}
	return f
}

func (s auditPageData) model() view.Audit {
	m := view.Audit{Group: s.filter.Group, Actor: s.filter.Actor, Older: s.past, NewURL: links.AuditWith(s.filter)}
	for _, g := range auditGroups {
		to := s.filter
		to.Group = g.Name
		m.Groups = append(m.Groups, ui.FilterOption{Label: g.Label, URL: links.AuditWith(to), Selected: g.Name == s.filter.Group})
	}
	if s.filter.Actor != "" {
		to := s.filter
		to.Actor = ""
		m.Active = append(m.Active, ui.ActiveFilter{Text: "By " + history.ActorNamed(s.filter.Actor, s.events),
			RemoveURL: links.AuditWith(to)})
	}
	m.Items.Days = history.Days(s.events, s.now, s.line)
	if s.older != "" {
		m.Items.OlderURL, m.Items.OlderID = links.AuditBefore(s.older, s.filter), "older-"+s.older
	}
	if len(s.events) == 0 {
		m.Empty = s.empty()
	}
	return m
}

// line returns a line of the timeline whose actor leads to what else that person did
// here.
func (s auditPageData) line(e eventlog.Event) events.Event {
	m := history.Line(e)
	to := s.filter
	to.Actor = history.ActorFilter(e.Actor)
	m.Who.URL = links.AuditWith(to)
	return m
}

func (s auditPageData) empty() *ui.Empty {
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
