package links

import "net/url"

// AgentsFilter is what of the fleet the page of agents shows.
type AgentsFilter struct {
	Show  string // "" for all, "working", "idle", "attention"
	Query string
}

// AgentsWith returns the page of agents with a filter.
func AgentsWith(f AgentsFilter) string { return with(Agents, f.values()) }

func (f AgentsFilter) values() url.Values {
	v := url.Values{}
	if f.Show != "" {
		v.Set("show", f.Show)
	}
	if f.Query != "" {
		v.Set("q", f.Query)
	}
	return v
}
