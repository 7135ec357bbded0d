package messages

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/messageparts"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/messages"
	"github.com/fleetboard/fleetboard/views/ui"
)

// maxText is how many characters a person writes at once: as many as fit into a form, but
// for texts in which most characters take several bytes.
const maxText = 20_000

// addForms adds the form of the view, as it was sent where it was refused.
func (d pageData) addForms(m *view.Messages, refused *view.Form) {
	switch {
	case !d.canWrite || m.Dead != nil:
	case d.at.New:
		f := view.Form{ID: ids.New().String(), To: string(bus.ToAgent), Name: d.at.To, Job: d.at.Filter.Job}
		if refused != nil {
			f = *refused
		}
		f.BackURL = links.MessagesWith(links.MessageView{Tab: d.listTab()})
		f.MaxText, f.Targets, f.Names = maxText, d.kinds(f.To), d.names()
		m.Form = &f
	case m.Thread != nil && len(d.thread) > 0:
		last := d.thread[len(d.thread)-1]
		f := view.Form{ID: ids.New().String(), Thread: d.at.Thread, Reply: last.ID.String()}
		if refused != nil {
			f = *refused
		}
		f.MaxText, f.Targets = maxText, d.targets(f.To)
		m.Thread.Answer = &f
	}
}

// kinds are whom a new message can be for.
func (d pageData) kinds(chosen string) []ui.Option {
	list := []ui.Option{{Value: string(bus.ToAgent), Label: "Agent"}, {Value: string(bus.ToRole), Label: "Role, one live agent of it"},
		{Value: string(bus.ToFactory), Label: "Factory, one agent of it"}, {Value: string(bus.ToPerson), Label: "Person"}}
	if d.who.Can(tenancy.RunFleet) {
		list = append(list, ui.Option{Value: string(bus.ToAll), Label: "All live agents"})
	}
	for i := range list {
		list[i].Selected = list[i].Value == chosen
	}
	return list
}

// names are suggested: agents, factories, roles and people.
func (d pageData) names() (list []view.Name) {
	for _, f := range d.fleet.Factories {
		for _, a := range f.Agents {
			list = append(list, view.Name{Value: a.Name, Label: "agent on " + f.Name})
		}
		list = append(list, view.Name{Value: f.Name, Label: "factory"})
	}
	for _, role := range []string{tenancy.AgentWorker, tenancy.AgentOrchestrator, tenancy.AgentReviewer} {
		list = append(list, view.Name{Value: role, Label: "role"})
	}
	for _, m := range d.members {
		list = append(list, view.Name{Value: m.Email, Label: m.Name})
	}
	return list
}

// targets are whom an answer can be for: those who take part in the thread, the last one
// who wrote first, and the agents that the server speaks of.
func (d pageData) targets(chosen string) (list []ui.Option) {
	add := func(a bus.Address) {
		value := formatTarget(a)
		if value == "" || a.Kind == bus.ToPerson && a.ID == d.who.Account ||
			slices.ContainsFunc(list, func(o ui.Option) bool { return o.Value == value }) {
			return
		}
		list = append(list, ui.Option{Value: value, Label: messageparts.AddressName(a), Selected: value == chosen})
	}
	for _, m := range slices.Backward(d.thread) {
		add(m.From)
	}
	for _, m := range slices.Backward(d.thread) {
		var said struct{ Agent, Actor string }
		if m.From.Kind == bus.System && json.Unmarshal(m.Payload, &said) == nil {
			add(d.agentNamed(said.Agent))
			add(d.agentNamed(said.Actor))
		}
		add(m.To)
	}
	add(bus.Address{Kind: bus.ToRole, Name: tenancy.AgentOrchestrator})
	return list
}

func (d pageData) agentNamed(name string) bus.Address {
	for _, f := range d.fleet.Factories {
		for _, a := range f.Agents {
			if a.Name == name {
				return bus.Address{Kind: bus.ToAgent, Name: a.Name, ID: a.ID}
			}
		}
	}
	return bus.Address{}
}

// formatTarget writes an address as the form of an answer has it, "" for one that takes none.
func formatTarget(a bus.Address) string {
	switch a.Kind {
	case bus.ToPerson:
		return string(a.Kind) + ":" + a.ID.String()
	case bus.ToAgent, bus.ToRole, bus.ToFactory:
		return string(a.Kind) + ":" + a.Name
	}
	return ""
}

// parseAddress reads whom a form names.
func parseAddress(to, name string) (bus.Address, bool) {
	kind, rest, whole := strings.Cut(to, ":")
	if whole {
		name = rest
	}
	a := bus.Address{Kind: bus.Kind(kind), Name: strings.TrimSpace(name)}
	switch a.Kind {
	case bus.ToAll:
		a.Name = ""
		return a, true
	case bus.ToAgent, bus.ToRole, bus.ToFactory, bus.ToPerson:
		return a, true
	}
	return a, false
}
