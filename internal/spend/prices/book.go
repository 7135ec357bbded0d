package prices

import (
	"slices"
	"time"
)

// Book is what a workspace knows of prices: its own, the built-in list, and what people
// decided on models that have none. BookTx makes it. Find remembers names in it, so a Book is
// for one goroutine.
type Book struct {
	Prices   List       // the workspace's own, then the built-in ones
	Unpriced []Unpriced // those that wait for a decision first, each the oldest first

	names map[Model]modelNames // of the models that were looked for already
}

// Model names a model as a provider does.
type Model struct{ Provider, Name string }

// String returns the model as provider/name, or its name alone where no provider is named.
func (m Model) String() string {
	if m.Provider == "" {
		return m.Name
	}
	return m.Provider + "/" + m.Name
}

// Decision says what becomes of usage of a model without a price.
type Decision string

// The decisions.
const (
	Undecided Decision = ""
	Count     Decision = "count" // it counts as another model
	Pass      Decision = "pass"  // it is used without a price
)

// ModelDecision is what a person decides on a model without a price.
type ModelDecision struct {
	Model // the name in small letters: one decision is for all providers

	Decision Decision
	As       Model // the model that it counts as
}

// String returns the decision in a word, as events have it.
func (d ModelDecision) String() string {
	if d.Decision == Count {
		return d.As.String()
	}
	return string(d.Decision)
}

// Unpriced is a model without a price that a person was asked about, or has decided on.
type Unpriced struct {
	ModelDecision

	AskedAt   time.Time
	Budget    string // the name of the budget that asked; "" where a person decided unasked
	Source    string // the agent that works with the model, or the job that used it
	DecidedBy string
	DecidedAt *time.Time
}

// Find returns the price of a model at an instant, or else that of the model that it counts as;
// false where neither has a price. Prices.Find knows no decisions.
func (b Book) Find(provider, model string, at time.Time) (Price, bool) {
	m := Model{provider, model}
	names, known := b.names[m]
	if !known {
		names = newModelNames(provider, model)
		b.names[m] = names
	}
	if p, found := b.Prices.find(names, at); found {
		return p, true
	}
	if u := b.findUnpriced(model); u != nil && u.Decision == Count {
		return b.Prices.Find(u.As.Provider, u.As.Name, at)
	}
	return Price{}, false
}

// findUnpriced returns what was asked or decided about a model; nil where nothing was.
func (b Book) findUnpriced(model string) *Unpriced {
	name := lower(model)
	i := slices.IndexFunc(b.Unpriced, func(u Unpriced) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Unpriced[i]
}

// Holds reports whether claims of a model wait for a price: it has none, and nobody has decided
// on it. Where m names no provider, a price of any provider will do.
func (b Book) Holds(m Model, at time.Time) bool {
	if _, known := b.Find(m.Provider, m.Name, at); known {
		return false
	}
	if u := b.findUnpriced(m.Name); u != nil && u.Decision != Undecided {
		return false
	}
	return m.Provider != "" || !slices.ContainsFunc(b.Prices, func(p Price) bool {
		return p.ID > 0 && !p.From.After(at) && matchesPattern(lower(p.Model), lower(m.Name))
	})
}

// WasAsked reports whether a person was asked about a model.
func (b Book) WasAsked(model string) bool { return b.findUnpriced(model) != nil }

// Open returns the models that wait for a person's decision and have no price yet.
func (b Book) Open(at time.Time) []Unpriced {
	var open []Unpriced
	for _, u := range b.Unpriced {
		if u.Decision == Undecided && b.Holds(u.Model, at) {
			open = append(open, u)
		}
	}
	return open
}
