package prices

import (
	"slices"
	"time"
)

// Book is what a workspace knows of prices: its own, the built-in list, and what people
// decided on models that have none.
type Book struct {
	List

	Unpriced []Unpriced // those that wait for a decision first, each the oldest first

	wanted map[Model]wanted // models that were looked for already
}

// Model names a model as a provider does.
type Model struct{ Provider, Name string }

// Decision is what a person says of a model without a price.
type Decision string

// The decisions.
const (
	Undecided Decision = ""
	Count     Decision = "count" // it counts as another model
	Pass      Decision = "pass"  // it is used without a price
)

// Unpriced is a model without a price that a person was asked about, or has decided on.
type Unpriced struct {
	Model // the name in small letters: it is one question whatever the provider

	AskedAt   time.Time
	Budget    string // that asked; "" where a person decided unasked
	Source    string // the agent that works with it, or the job that used it
	Decision  Decision
	As        Model // what it counts as
	DecidedBy string
	DecidedAt *time.Time
}

// Find returns the price of a model at an instant, or else of the one that it counts as; false
// where neither is known.
func (b Book) Find(provider, model string, at time.Time) (Price, bool) {
	m := Model{provider, model}
	w, again := b.wanted[m]
	if !again {
		w = lookUp(provider, model)
		b.wanted[m] = w
	}
	if p, found := b.find(w, at); found {
		return p, true
	}
	if u := b.of(model); u != nil && u.Decision == Count {
		return b.List.Find(u.As.Provider, u.As.Name, at)
	}
	return Price{}, false
}

// of returns what was asked or decided about a model; nil where nothing was.
func (b Book) of(model string) *Unpriced {
	name := lower(model)
	i := slices.IndexFunc(b.Unpriced, func(u Unpriced) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Unpriced[i]
}

// Holds reports whether claims of a model are to be held for want of a price: it has none,
// and nobody has decided on it. A provider that is not named is any.
func (b Book) Holds(m Model, at time.Time) bool {
	if _, known := b.Find(m.Provider, m.Name, at); known {
		return false
	}
	if u := b.of(m.Name); u != nil && u.Decision != Undecided {
		return false
	}
	return m.Provider != "" || !slices.ContainsFunc(b.List, func(p Price) bool {
		return p.ID > 0 && !p.From.After(at) && fits(lower(p.Model), lower(m.Name))
	})
}

// WasAsked reports whether a person was asked about a model.
func (b Book) WasAsked(model string) bool { return b.of(model) != nil }

// Open returns the models that a person is asked about: they wait for a decision and have no
// price yet.
func (b Book) Open(at time.Time) []Unpriced {
	var open []Unpriced
	for _, u := range b.Unpriced {
		if u.Decision == Undecided && b.Holds(u.Model, at) {
			open = append(open, u)
		}
	}
	return open
}
