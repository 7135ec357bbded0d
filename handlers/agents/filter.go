package agents

import (
	"net/url"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	view "github.com/fleetboard/fleetboard/views/agents"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// kind is what the agents that are shown have in common.
type kind struct {
	show, label string
	has         func(a view.Agent) bool
	none        string // said where no agent has it
}

var kinds = []kind{
	{"", "All", func(view.Agent) bool { return true }, "No agent is registered."},
	{"working", "Working", func(a view.Agent) bool { return len(a.Jobs) > 0 }, "No agent works on a job."},
	{"idle", "Idle", func(a view.Agent) bool { return a.Idle }, "No agent waits for a job."},
	{"attention", "Attention", func(a view.Agent) bool { return a.Attention },
		"No agent is late, dead or without progress."},
}

// parseFilter reads the page's query. What makes no sense narrows nothing.
func parseFilter(q url.Values) links.AgentsFilter {
	f := links.AgentsFilter{Show: q.Get("show"), Query: web.SearchText(q.Get("q"))}
	if !slices.ContainsFunc(kinds, func(k kind) bool { return k.show == f.Show }) {
		f.Show = ""
	}
	return f
}

// narrow leaves the agents that the filter shows, with their factories, and counts
// those that each kind would show.
func narrow(m *view.Agents, snap fleet.Snapshot, f links.AgentsFilter) {
	m.Query, m.Show = f.Query, f.Show
	offers := map[string][]string{}
	for _, one := range snap.Factories {
		offers[one.Name] = one.Offers()
	}
	var shown []view.Factory
	counts := make([]int, len(kinds))
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.show == f.Show })
	for _, factory := range m.Factories {
		whole := f.Query == "" || matches(f.Query, append(offers[factory.Name], factory.Name, factory.About)...)
		found := slices.DeleteFunc(factory.Agents, func(a view.Agent) bool { return !whole && !agentMatches(f.Query, a) })
		for i, k := range kinds {
			counts[i] += countKind(found, k)
		}
		factory.Agents = slices.DeleteFunc(found, func(a view.Agent) bool { return !kinds[at].has(a) })
		if len(factory.Agents) > 0 || whole && f.Show == "" {
			shown = append(shown, factory)
		}
	}
	for i, k := range kinds {
		m.Kinds = append(m.Kinds, ui.FilterOption{Label: k.label, Count: ui.Count(counts[i]), Selected: i == at,
			URL: links.AgentsWith(links.AgentsFilter{Show: k.show, Query: f.Query})})
	}
	if len(m.Factories) > 0 && len(shown) == 0 {
		m.None = &ui.Empty{Title: "No agent matches", Text: kinds[at].none, ActionLabel: "Show all agents", ActionURL: links.Agents}
		if f.Query != "" {
			m.None.Text = "Nothing here has “" + f.Query + "” in its name, its job, its repos or its capabilities."
		}
	}
	m.Factories = shown
}

func countKind(list []view.Agent, k kind) (n int) {
	for _, a := range list {
		if k.has(a) {
			n++
		}
	}
	return n
}

// agentMatches looks for the query in what an agent's row says.
func agentMatches(query string, a view.Agent) bool {
	texts := append([]string{a.Name, a.Model, a.State}, a.Caps...)
	for _, j := range a.Jobs {
		texts = append(texts, j.Key, j.Title)
	}
	return matches(query, texts...)
}

func matches(query string, texts ...string) bool {
	query = strings.ToLower(query)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), query) })
}
