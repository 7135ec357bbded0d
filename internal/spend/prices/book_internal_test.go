package prices

import (
	"testing"
	"time"
)

// Find of a book follows what people decided, once; that of its prices does not.
func TestABookFollowsDecisions(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	list := List{
		{ID: 1, Provider: "house", Model: "cheap", From: from},
		{ID: 2, Provider: "house", Model: "dear", From: from},
		{ID: 3, Provider: "house", Model: "late", From: from.AddDate(0, 1, 0)},
	}
	house := func(name string) Model { return Model{"house", name} }
	b := Book{Prices: list, names: map[Model]modelNames{}, Unpriced: []Unpriced{
		{ModelDecision: ModelDecision{Model: house("asked")}},
		{ModelDecision: ModelDecision{Model: house("passes"), Decision: Pass}},
		{ModelDecision: ModelDecision{Model: house("counts"), Decision: Count, As: house("cheap")}},
		{ModelDecision: ModelDecision{Model: house("counts-late"), Decision: Count, As: house("late")}},
		{ModelDecision: ModelDecision{Model: house("chain"), Decision: Count, As: house("counts")}},
		{ModelDecision: ModelDecision{Model: house("dear"), Decision: Count, As: house("cheap")}},
	}}
	for _, c := range []struct {
		provider, model string
		want, direct    int64 // 0 is none
		holds           bool
	}{
		{"house", "cheap", 1, 1, false},
		{"house", "asked", 0, 0, true},
		{"house", "never seen", 0, 0, true},
		{"house", "passes", 0, 0, false},
		{"house", "counts", 1, 0, false},
		{"other", "COUNTS ", 1, 0, false}, // one decision whatever the provider, the case and the blanks
		{"house", "counts-late", 0, 0, false},
		{"house", "chain", 0, 0, false},
		{"house", "dear", 2, 2, false}, // a price of its own comes before a decision
		{"", "cheap", 0, 0, false},     // any provider
	} {
		for range 2 { // also when the names are remembered
			if got, found := b.Find(c.provider, c.model, from); got.ID != c.want || found != (c.want != 0) {
				t.Errorf("%s/%s: the book finds %d, %t; want %d", c.provider, c.model, got.ID, found, c.want)
			}
		}
		if got, found := b.Prices.Find(c.provider, c.model, from); got.ID != c.direct || found != (c.direct != 0) {
			t.Errorf("%s/%s: the prices have %d, %t; want %d", c.provider, c.model, got.ID, found, c.direct)
		}
		if got := b.Holds(Model{c.provider, c.model}, from); got != c.holds {
			t.Errorf("%s/%s: held is %t", c.provider, c.model, got)
		}
	}
	if got, found := b.Find("house", "counts-late", from.AddDate(0, 1, 0)); !found || got.ID != 3 {
		t.Errorf("once the other model has a price: %d, %t", got.ID, found)
	}
}
