package distinct_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/distinct"
)

func TestWhoPasses(t *testing.T) {
	ada := distinct.Agent{Name: "ada", Model: "Claude-Opus-4", Provider: "Anthropic"}
	for _, c := range []struct {
		rule   distinct.Rule
		author distinct.Agent
		asks   distinct.Agent
		want   bool
	}{
		{distinct.ByAgent, ada, ada, false},
		{distinct.ByAgent, ada, distinct.Agent{Name: "bob", Model: ada.Model, Provider: ada.Provider}, true},
		{distinct.ByAgent, ada, distinct.Agent{Name: "bob"}, true},
		{distinct.ByAgent, ada, distinct.Agent{}, false},
		{distinct.ByModel, ada, distinct.Agent{Name: "bob", Model: "claude-opus-4", Provider: "other"}, false},
		{distinct.ByModel, ada, distinct.Agent{Name: "bob", Model: "anthropic/claude-opus-4-20260101"}, false},
		{distinct.ByModel, ada, distinct.Agent{Name: "bob", Model: "claude-opus-4@latest"}, false},
		{distinct.ByModel, ada, distinct.Agent{Name: "bob", Model: "claude-haiku-4"}, true},
		{distinct.ByModel, ada, distinct.Agent{Name: "bob"}, false},
		{distinct.ByModel, ada, distinct.Agent{Name: "ada", Model: "gpt-7"}, false},
		{distinct.ByModel, distinct.Agent{Name: "eve"}, distinct.Agent{Name: "bob", Model: "gpt-7"}, false},
		{distinct.ByProvider, ada, distinct.Agent{Name: "bob", Model: "x", Provider: "ANTHROPIC"}, false},
		{distinct.ByProvider, ada, distinct.Agent{Name: "bob", Model: "x", Provider: "openai"}, true},
		{distinct.ByProvider, ada, distinct.Agent{Name: "bob", Model: "x"}, false},
		{distinct.ByProvider, distinct.Agent{Name: "eve", Model: "m"}, distinct.Agent{Name: "bob", Provider: "openai"}, false},
	} {
		if got := c.asks.Passes(distinct.From(c.rule, []distinct.Agent{c.author})); got != c.want {
			t.Errorf("%+v verifies the work of %+v by %s: %t", c.asks, c.author, c.rule, got)
		}
	}
	if !ada.Passes([]string{"os:linux", "repo:web"}) || ada.Passes([]string{"!colour:red"}) {
		t.Error("needs of another kind")
	}
}

// Whatever rule counts and however many wrote the work, no author passes, nor anybody with the model or
// provider of one where that counts.
func TestNoAuthorPasses(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "a", "b", "c:d", "A", "e/f", "f"})
	one := rapid.Custom(func(r *rapid.T) distinct.Agent {
		return distinct.Agent{Name: word.Draw(r, "name"), Model: word.Draw(r, "model"), Provider: word.Draw(r, "provider")}
	})
	rapid.Check(t, func(r *rapid.T) {
		authors := rapid.SliceOfN(one, 1, 4).Draw(r, "authors")
		rule, asks := rapid.SampledFrom(distinct.Rules).Draw(r, "rule"), one.Draw(r, "asks")
		if !asks.Passes(append(distinct.From(rule, authors), "os:linux")) {
			return
		}
		if slices.ContainsFunc(authors, func(a distinct.Agent) bool {
			return a.Name == asks.Name || rule == distinct.ByModel && a.Model == asks.Model || rule == distinct.ByProvider && a.Provider == asks.Provider
		}) {
			r.Fatalf("%+v verifies by %s what %+v wrote", asks, rule, authors)
		}
	})
}
