package layout

import (
	"time"

	"github.com/fleetboard/fleetboard/views/ui"
)

// Section is the entry of the navigation that a page belongs to.
type Section string

// The sections of the navigation.
const (
	SectionBoard    Section = "board"
	SectionNewJob   Section = "new"
	SectionJob      Section = "job" // of one job; no entry is its
	SectionReview   Section = "review"
	SectionNeedsYou Section = "needs-you"
	SectionAgents   Section = "agents"
	SectionBudgets  Section = "budgets"
	SectionTimeline Section = "timeline"
	SectionMessages Section = "messages"
	SectionSearch   Section = "search" // no entry is its
	SectionStatus   Section = "status"
	SectionSettings Section = "settings"
)

// About returns what the section's pages are about, so that they show no note of it.
func (s Section) About() []string {
	switch s {
	case SectionBudgets:
		return []string{ui.AboutBudget, ui.AboutUsedUp}
	case SectionNeedsYou:
		return []string{ui.AboutUsedUp, ui.AboutUnroutable}
	default:
		return nil
	}
}

// Shell is what every page of a signed-in person has around it.
type Shell struct {
	Title     string // of the document, with the count: "Board (9 running)"
	Section   Section
	Workspace string
	// WorkspaceID is what the page says with every request, so that it acts in
	// no other workspace; Workspaces are those of the person.
	WorkspaceID string
	Workspaces  []ShellWorkspace
	AccountID   string // whose drafts the page shows
	Person      string // shown name
	Initials    string // two letters
	Theme       Theme
	Now         time.Time // the server's clock, so that ages are right in the browser
	Path        string    // path and query of this page, where the theme form comes back to
	LiveURL     string    // links.LiveBoard(...) etc.; "" for a page without a stream
	Fleet       Fleet
	Health      Health
	Review      string   // how many jobs wait for a decision: "4", "99+", "" for none
	Needs       string   // how many jobs wait for a person: "4", "99+", "" for none
	Money       *ui.Note // what people should know of a budget, nil for nothing
	CanWrite    bool     // may create jobs: shows New job
	CanManage   bool     // may change the workspace's settings
	Toasts      []ui.Toast
}

// ShellWorkspace is one that the person can switch to.
type ShellWorkspace struct {
	ID, Name string
	Role     string // "owner"
	Current  bool
}

// Theme is what the person chose: "" is the system's.
type Theme string

// The themes.
const (
	ThemeSystem Theme = ""
	ThemeLight  Theme = "light"
	ThemeDark   Theme = "dark"
)

// Attr returns the value of data-theme, "" for the system's.
func (t Theme) Attr() string {
	switch t {
	case ThemeLight:
		return "fleet-light"
	case ThemeDark:
		return "fleet-dark"
	default:
		return ""
	}
}

// Next returns the theme that the switch goes on to: system, light, dark.
func (t Theme) Next() string {
	switch t {
	case ThemeLight:
		return "dark"
	case ThemeDark:
		return "system"
	default:
		return "light"
	}
}

// Word returns the theme's name.
func (t Theme) Word() string {
	if t == ThemeSystem {
		return "system"
	}
	return string(t)
}

// Health is whether the coordinator works, in a word.
type Health struct {
	Word string // "Working", "Late", "Nobody leads"
	Icon string
	Tone ui.Tone
}

// Fleet is the block of factories at the bottom of the sidebar.
type Fleet struct {
	Free string // "2 seats free", "no seat free", "no factory yet"
	Rows []FleetRow
	More string // "12 more" when there are more than fit
	Stop Stop
}

// Stop is what is stopped, for the bar on every page; the zero value is nothing.
type Stop struct {
	Title  string // "The whole fleet is stopped"
	Reason string
	By     string
	At     time.Time
}

// FleetRow is one factory in the sidebar.
type FleetRow struct {
	ID    string // DOM id of its panel on the agents page: "factory-mac-1"
	Name  string
	Pips  ui.Pips
	Text  string // "4 of 6", "drain", "dead"
	Tone  ui.Tone
	Title string // "Draining: current jobs may end, no new claims"
}
