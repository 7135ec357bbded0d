// Package jobform shows the form of a job and which factories can run it.
package jobform

import (
	"fleetboard/views/layout"
	"fleetboard/views/ui"
)

// Page is the form for a new job.
type Page struct {
	Shell layout.Shell
	Form  Form
}

// Form is the form with what was typed. All values are text as it was typed,
// so that a refused form comes back as it was.
type Form struct {
	IdempotencyKey string
	Blank          bool // nothing was typed or prefilled: the draft of this device may be shown
	Title          string
	Body           string
	Repo           []ui.Option // first: no repo
	RepoHint       string      // "Held by linux-2 and linux-3"
	Factory        []ui.Option // first: Any live factory
	FactoryHint    string
	Engines        []EngineOption // first: Any engine
	Capabilities   []Token        // chosen
	Offered        []string       // capabilities of live factories that are not chosen
	DependsOn      []Dependency
	Acceptance     []string
	Products       []ui.Option
	Phase          string
	Phases         []string // suggestions
	Priority       string
	MaxRetries     string
	Estimate       string
	NotBefore      string // as <input type="datetime-local"> writes it
	Review         string // "inherit", "yes", "no"
	Inputs         string // lines of NAME=value
	// SecretsGone is set where secrets were typed into the form that was refused:
	// they are not sent back.
	SecretsGone bool

	// Errors by field name (title, repo, acceptance, ...): one sentence each.
	Errors map[string]string
	// Error is about the form as a whole: what happened, what is kept.
	Error string

	Routability Routability
	NoFleet     bool // no live factory: the form says so
}

// EngineOption is one box of the engine choice.
type EngineOption struct {
	Value, Label string
	Note         string // "2 factories, 2 seats free"
	Selected     bool
	Offline      bool
}

// Token is a chosen capability.
type Token struct {
	Value   string
	Offline bool // no live factory offers it now
}

// Dependency is a chosen job.
type Dependency struct {
	Key, Title string
	Status     ui.Status
	Percent    int
}

// JobOptions is the answer to a search for jobs to depend on.
type JobOptions struct {
	Query string
	Jobs  []Dependency
}

// Routability says which factories can run the job that is being written.
type Routability struct {
	Tone     ui.Tone // OK, Warn when none can, Plain before anything is chosen
	Title    string  // "1 of 4 factories can run this"
	Text     string  // "2 seats free, from heartbeats 3 s ago"
	Rows     []Fit
	Foot     ui.Sentence // "Starts now." "It waits for FB-137."
	FootIcon string
	// Hints that follow from the choice of repo and factory; shown under
	// these fields.
	RepoHint, FactoryHint string
}

// FitKind is how well a factory fits.
type FitKind string

// The kinds of fit.
const (
	FitYes  FitKind = "yes"
	FitSoon FitKind = "soon" // would fit, but drains
	FitNo   FitKind = "no"
)

// Fit is one factory in the preview.
type Fit struct {
	Name    string
	About   string // "Debian 12 · claude"
	Kind    FitKind
	Text    string   // "Holds ledger-api. 2 agents idle: claude-8, claude-9."
	Missing []string // what it lacks
	Pips    ui.Pips
	Seats   string // "2 free", "drain", "dead"
}

func chosenOffline(options []ui.Option) bool {
	for _, o := range options {
		if o.Selected && o.Offline {
			return true
		}
	}
	return false
}

func (r Routability) repoHint(other string) string {
	if r.RepoHint != "" {
		return r.RepoHint
	}
	return other
}

func (r Routability) factoryHint(other string) string {
	if r.FactoryHint != "" {
		return r.FactoryHint
	}
	return other
}

func (r Routability) icon() string {
	switch r.Tone {
	case ui.OK:
		return "circle-check"
	case ui.Warn, ui.Bad:
		return "unplug"
	default:
		return "server"
	}
}

func (r Routability) footIcon() string {
	if r.FootIcon != "" {
		return r.FootIcon
	}
	return "hourglass"
}

func (f Fit) icon() string {
	switch f.Kind {
	case FitYes:
		return "circle-check"
	case FitSoon:
		return "circle-alert"
	default:
		return "circle-x"
	}
}

func (f Fit) tone() string {
	switch f.Kind {
	case FitYes:
		return "text-green"
	case FitSoon:
		return "text-amber"
	default:
		return "text-faint"
	}
}

func (f Fit) word() string {
	if f.Kind == FitYes {
		return "Can run it"
	}
	return "Cannot run it"
}
