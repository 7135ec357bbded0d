// Package jobform shows the form of a job and which factories can run it.
package jobform

import (
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Page is the form of a job.
type Page struct {
	Shell layout.Shell
	Form  Form
}

// Form is the form with what was typed, and what the fleet offers.
type Form struct {
	ui.Form

	IdempotencyKey string
	Blank          bool           // nothing was typed or prefilled: the draft of this device may be shown
	Repo           []ui.Option    // first: no repo
	Factory        []ui.Option    // first: Any live factory
	Engines        []EngineOption // first: Any engine
	Capabilities   []Token        // chosen
	Offered        []string       // capabilities of live factories that are not chosen
	DependsOn      []Dependency
	Products       []ui.Option
	Phases         []string // suggestions
	// SecretsGone is set where secrets were typed into the form that was refused:
	// they are not sent back.
	SecretsGone bool

	Routability Routability
	NoFleet     bool // no live factory: the form says so

	Copy Copy  // the job that this one begins as, the zero value for none
	Edit *Edit // nil for a new job
}

// Copy is the job that a new one begins as.
type Copy struct {
	Key, URL string
	Secrets  []string // names of secrets, which are not copied
	Left     []string // names of inputs that are not one line of text
}

// Edit is what the form of a job that is there has beside its fields.
type Edit struct {
	Key, Title string
	URL        string // where the form is sent
	JobURL     string
	DraftURL   string
	CopyURL    string
	Version    int
	Base       string            // what the fields held when the form was opened
	Retry      bool              // saving also retries it
	Failure    string            // how it ended, where it is retried
	CanRetry   bool              // saving may also retry it
	Locked     map[string]string // why a field cannot change, by its name
	Changes    []Change
	// Inputs and Secrets are the names of what the agent is given; they stay as they are.
	Inputs, Secrets []string
}

// Change is a field that somebody else changed while the form was open.
type Change struct {
	Field, Label string
	Now          string // what it is in the job
	By           string
	Differs      bool // the form has something else
	Dropped      bool // what was typed can no longer be saved
}

// long reports whether what the field is now does not fit into a sentence.
func (c Change) long() bool { return len(c.Now) > maxInSentence || strings.Contains(c.Now, "\n") }

// maxInSentence is how many bytes of a value stand in a sentence.
const maxInSentence = 80

// says is "Priority is now 7, changed by claude-1."
func (c Change) says() string {
	if c.Dropped {
		return "can no longer change; what you chose there is not saved."
	}
	text := "is now " + c.Now
	switch {
	case c.long():
		text = "is another one now"
	case strings.Contains(c.Now, " "):
		text = "is now “" + c.Now + "”"
	}
	if c.By != "" {
		text += ", changed by " + c.By
	}
	if !c.Differs {
		return text + ". The form has it."
	}
	return text + ". Yours is still in the form."
}

// lock is why a field cannot change, "" where it can.
func (f Form) lock(name string) string {
	if f.Edit == nil {
		return ""
	}
	return f.Edit.Locked[name]
}

// lockID returns the id of the sentence that says why a field of where the job can run cannot
// change, "" where it can.
func (f Form) lockID(name string) string {
	if f.lock(name) == "" {
		return ""
	}
	return "where-h"
}

// hintID returns the id of what is said under such a field.
func (f Form) hintID(name string) string {
	if id := f.lockID(name); id != "" {
		return id
	}
	return name + "-h"
}

// differs reports whether the form would undo somebody else's change.
func (e *Edit) differs() bool {
	return slices.ContainsFunc(e.Changes, func(c Change) bool { return c.Differs })
}

// saves returns what the button says.
func (e *Edit) saves() string {
	switch {
	case e.differs() && e.Retry:
		return "Save over it and retry"
	case e.differs():
		return "Save over it"
	case e.Retry:
		return "Save and retry"
	default:
		return "Save"
	}
}

// gone names the secrets of the copied job.
func (c Copy) gone() string {
	one, them := "a secret", "It is"
	if len(c.Secrets) > 1 {
		one, them = "secrets", "They are"
	}
	return c.Key + " has " + one + ", " + strings.Join(c.Secrets, ", ") + ". " + them + " not copied: write " + c.pronoun() + " once more."
}

func (c Copy) pronoun() string {
	if len(c.Secrets) > 1 {
		return "them"
	}
	return "it"
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
	Money    []MoneyLine // what it is expected to cost, and how its budgets stand
	// Hints that follow from the choice of repo and factory; shown under
	// these fields.
	RepoHint, FactoryHint string
}

// MoneyLine is a sentence about money; Short where the job would wait for a budget.
type MoneyLine struct {
	Icon  string
	Text  ui.Sentence
	Short bool
}

// Missing is what a factory lacks, and the id of the field that takes it.
type Missing struct{ Token, Field string }

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
	Text    string    // "Holds ledger-api. 2 agents idle: claude-8, claude-9."
	Missing []Missing // what it lacks
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
