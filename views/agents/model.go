// Package agents shows the factories of the fleet and their agents.
package agents

import (
	"strconv"

	"github.com/fleetboard/fleetboard/views/ui"
)

// Agents is the live part of the page.
type Agents struct {
	Count     string // "3 live factories, 13 agents"
	Factories []Factory
	CanRun    bool // may drain and terminate
	Kinds     []ui.FilterOption
	Show      string    // of the filter, "" for all
	Query     string    // that was searched for
	None      *ui.Empty // where the filter leaves nothing
	// FirstRun shows how to start a factory; used when there is none, and by
	// the button Add a factory.
	FirstRun ui.FirstRun
}

// Factory is one panel.
type Factory struct {
	Name      string
	About     string // "macOS 15, arm64 · claude"
	Pips      ui.Pips
	SeatsText string // "4 of 4 taken", "1 of 4 still working"
	Draining  bool
	Dead      bool
	DeadSince ui.When // shown in the pill
	Ended     bool    // as it should; it is not dead
	EndedAt   ui.When
	Repos     []string
	Caps      []string
	Note      ui.Sentence // "Drained by Jonas Weber at 12:20."
	Troubles  []Trouble   // what it does not offer, and what it has moved aside
	More      string      // "and 3 more", of them
	DrainURL  string      // "" when not allowed
	Undrain   string      // URL, "" when not allowed
	Remove    string      // URL, "" when not allowed or not possible
	Agents    []Agent
}

// Trouble is a line about something on the host that a person may want to look at.
type Trouble struct {
	Icon string
	Text ui.Sentence
}

// agentCount is "1 agent", "3 agents".
func (f Factory) agentCount() string {
	if len(f.Agents) == 1 {
		return "1 agent"
	}
	return strconv.Itoa(len(f.Agents)) + " agents"
}

// DOMID returns the panel's element.
func (f Factory) DOMID() string { return ui.FactoryID(f.Name) }

// Agent is one row.
type Agent struct {
	Name      string
	Model     string
	State     string    // "Working", "Idle", "No progress", "Dead"
	Glyph     ui.Status // for a state that is no warning
	Icon      string    // for a state that is one
	Tone      ui.Tone
	HeldUntil ui.When // when its provider takes requests again, zero where it does now
	Jobs      []AgentJob
	Beat      ui.When
	BeatTone  ui.Tone
	CPU       int // percent, -1 unknown
	Memory    string
	Terminate string // URL, "" when not allowed
	CutOff    string // URL, "" when not allowed
	Caps      []string
	Idle      bool   // takes jobs and has none
	Attention bool   // it is late, dead or does not get on
	Leaves    string // "FB-142 goes back to Ready", said by the dialog
}

// AgentJob is a job that an agent works on.
type AgentJob struct {
	Key, Title, URL string
	Percent         int // -1 unknown
	Progress        ui.When
	ProgressLate    bool
	Lease           ui.When
}

// DOMID returns the row's element.
func (a Agent) DOMID(factory string) string {
	return ui.AgentID(factory, a.Name)
}

// main returns the job that the row's times are about: the first one.
func (a Agent) main() AgentJob {
	if len(a.Jobs) == 0 {
		return AgentJob{Percent: -1}
	}
	return a.Jobs[0]
}

func (a Agent) percent() int      { return a.main().Percent }
func (a Agent) late() bool        { return a.main().ProgressLate }
func (a Agent) progress() ui.When { return a.main().Progress }
func (a Agent) lease() ui.When    { return a.main().Lease }
