package messages

import (
	"encoding/json"
	"net/url"
	"slices"

	messageparts "github.com/fleetboard/fleetboard/handlers/parts/message"
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
func (d pageData) addForms(m *view.Messages) {
	switch {
	case !d.canWrite || m.Dead != nil:
	case d.at.New:
		f := newFields.Read(url.Values{"id": {ids.New().String()}, "to": {string(bus.ToAgent)}, "name": {d.at.To},
			"job": {d.at.Filter.Job}})
		if d.form != nil {
			f = *d.form
		}
		m.Form = &view.Form{Form: f, BackURL: links.MessagesWith(links.MessageView{Tab: d.listTab()}), Targets: d.kinds(), Names: d.names()}
	case m.Thread != nil && len(d.thread) > 0:
		f := answerFields.Read(url.Values{"id": {ids.New().String()}, "thread": {d.at.Thread},
			"reply": {d.thread[len(d.thread)-1].ID.String()}})
		if d.form != nil {
			f = *d.form
		}
		m.Thread.Answer = &view.Form{Form: f, Targets: d.targets()}
	}
}

// kinds are whom a new message can be for.
func (d pageData) kinds() []ui.Option {
	list := []ui.Option{{Value: string(bus.ToAgent), Label: "Agent"}, {Value: string(bus.ToRole), Label: "Role, one live agent of it"},
		{Value: string(bus.ToFactory), Label: "Factory, one agent of it"}, {Value: string(bus.ToPerson), Label: "Person"}}
	if d.who.Can(tenancy.RunFleet) {
		list = append(list, ui.Option{Value: string(bus.ToAll), Label: "All live agents"})
	}
	return list
}

// names are suggested: agents, factories, roles and people.
func (d pageData) names() (list []ui.Option) {
	for _, f := range d.fleet.Factories {
		for _, a := range f.Agents {
			list = append(list, ui.Option{Value: a.Name, Label: "agent on " + f.Name})
		}
		list = append(list, ui.Option{Value: f.Name, Label: "factory"})
	}
	for _, role := range []string{tenancy.AgentWorker, tenancy.AgentOrchestrator, tenancy.AgentReviewer} {
		list = append(list, ui.Option{Value: role, Label: "role"})
	}
	for _, m := range d.members {
		list = append(list, ui.Option{Value: m.Email, Label: m.Name})
	}
	return list
}

// targets are whom an answer can be for: those who take part in the thread, the last one
// who wrote first, and the agents that the server speaks of.
func (d pageData) targets() (list []ui.Option) {
	add := func(a bus.Address) {
		value := formatTarget(a)
		if value == "" || a.Kind == bus.ToPerson && a.ID == d.who.Account ||
			slices.ContainsFunc(list, func(o ui.Option) bool { return o.Value == value }) {
			return
		}
		list = append(list, ui.Option{Value: value, Label: messageparts.AddressName(a)})
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
