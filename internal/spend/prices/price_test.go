package prices_test

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/spend/prices"
)

func at(day string) time.Time {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err)
	}
	return t
}

func TestFindAPrice(t *testing.T) {
	t.Parallel()
	list := prices.List{
		{ID: -1, Provider: "anthropic", Model: "claude-*", From: at("2025-01-01")},
		{ID: -2, Provider: "anthropic", Model: "claude-opus-*", From: at("2025-01-01")},
		{ID: -3, Provider: "anthropic", Model: "claude-opus-*", From: at("2026-01-01")},
		{ID: -4, Provider: "anthropic", Model: "claude-opus-4-8", From: at("2026-06-01")},
		{ID: 7, Provider: "anthropic", Model: "*", From: at("2026-10-01")},
		{ID: 8, Provider: "house", Model: "big-*-chat", From: at("2025-01-01")},
		{ID: 9, Provider: "Azure", Model: "gpt-5", From: at("2025-01-01")},
		{ID: 10, Provider: "azure", Model: "gpt-5-2025-08-07", From: at("2026-11-01")},
	}
	for name, c := range map[string]struct {
		provider, model, at string
		want                int64 // 0 is none
	}{
		"the longest name":                      {"anthropic", "claude-opus-4-8[1m]", "2025-05-01", -2},
		"the newest of one name":                {"anthropic", "claude-opus-4-8[1m]", "2026-05-01", -3},
		"exactly at its instant":                {"anthropic", "claude-opus-4-8", "2026-06-01", -4},
		"before it":                             {"anthropic", "claude-opus-4-8", "2026-05-31", -3},
		"a longer context is the same model":    {"anthropic", "claude-opus-4-8[1m]", "2026-06-01", -4},
		"another cloud's name of it":            {"bedrock", "us.anthropic.claude-opus-4-8-20260501-v1:0", "2026-06-01", -4},
		"a shorter name":                        {"anthropic", "claude-haiku", "2026-05-01", -1},
		"the workspace's wins, however short":   {"anthropic", "claude-opus-4-8", "2026-10-01", 7},
		"text between":                          {"house", "big-7b-chat", "2026-01-01", 8},
		"no text between":                       {"house", "big-chat", "2026-01-01", 0},
		"its provider's price is not another's": {"bedrock", "claude-opus-4-8", "2026-10-01", -4},
		"the workspace's by the maker's name":   {"azure", "GPT-5-2025-08-07", "2026-10-01", 9},
		"its raw name before that":              {"azure", "gpt-5-2025-08-07", "2026-11-01", 10},
		"another provider":                      {"ollama", "claude-opus-4-8", "2026-10-01", 0},
		"before all":                            {"anthropic", "claude-opus-4-8", "2024-12-31", 0},
	} {
		got, found := list.Find(c.provider, c.model, at(c.at))
		if got.ID != c.want || found != (c.want != 0) {
			t.Errorf("%s: %d, %t; want %d", name, got.ID, found, c.want)
		}
	}
}

// A cost is rounded once, half up, and the largest entry's is a number.
func TestCost(t *testing.T) {
	t.Parallel()
	p := prices.Price{BatchPermille: 500, Rates: prices.Tokens{Input: 3_000_000, CacheRead: 37_500, CacheWrite: 3_750_000, CacheWrite1h: 6_000_000, Output: 15_000_000}}
	for _, c := range []struct {
		t           prices.Tokens
		want, batch int64
	}{
		{prices.Tokens{}, 0, 0},
		{prices.Tokens{Input: 1}, 3000, 1500},
		{prices.Tokens{CacheRead: 1}, 38, 19}, // 37.5 and 18.75
		{prices.Tokens{CacheRead: 2}, 75, 38},
		{prices.Tokens{CacheRead: 3}, 113, 56}, // 112.5 and 56.25
		{prices.Tokens{Input: 1, CacheRead: 1, CacheWrite: 1, CacheWrite1h: 1, Output: 1}, 27_788, 13_894},
		{prices.Tokens{Input: 1_000_000, Output: 1_000_000}, 18_000_000_000, 9_000_000_000},
	} {
		if got, batch := p.Cost(c.t, false), p.Cost(c.t, true); got != c.want || batch != c.batch {
			t.Errorf("%+v costs %d, %d in a batch; want %d and %d", c.t, got, batch, c.want, c.batch)
		}
	}
	most := prices.Price{BatchPermille: prices.WholePrice, Rates: prices.Tokens{Input: prices.MaxRate, CacheRead: prices.MaxRate, CacheWrite: prices.MaxRate,
		CacheWrite1h: prices.MaxRate, Output: prices.MaxRate}}
	const billion = 1_000_000_000
	for _, batch := range []bool{false, true} {
		got := most.Cost(prices.Tokens{Input: billion, CacheRead: billion, CacheWrite: billion, CacheWrite1h: billion, Output: billion}, batch)
		if got != 5_000_000*billion {
			t.Errorf("the dearest entry costs %d", got)
		}
	}
}

// A part of a price is read as people write it, with three places, and written as short.
func TestFactors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"": 1000, "1": 1000, "0.5": 500, "0.50": 500, "0.125": 125, "0": 0, "0.001": 1, "1.000000": 1000,
		"2": 2000, "0.0001": -1, "0.5000000000001": -1, "-1": -1, "-0": -1, "half": -1, "0.": -1, ".5": -1, "00.5": -1, "0,5": -1, "0.5 ": -1,
		"+1": -1, "0.5.5": -1, "5e-1": -1, "0.-5": -1, "0.+5": -1, "0.5_0": -1} {
		if got := prices.ParseFactor(text); got != want {
			t.Errorf("%q is %d; want %d", text, got, want)
		}
	}
	for permille, want := range map[int64]string{0: "0", 1: "0.001", 500: "0.5", 125: "0.125", 1000: "1"} {
		if got := prices.Factor(permille); got != want {
			t.Errorf("%d is %s; want %s", permille, got, want)
		}
	}
}

// The built-in list has an id for each row, below zero, a source, and rates within their
// limits; the models that agents' programs name are found.
func TestTheBuiltInList(t *testing.T) {
	t.Parallel()
	known := map[int64]bool{}
	for _, p := range prices.Builtin {
		if p.ID >= 0 || known[p.ID] || p.Source == "" || p.Provider == "" {
			t.Errorf("row %d: %+v", p.ID, p)
		}
		known[p.ID] = true
		if p.BatchPermille != 500 {
			t.Errorf("in batches row %d costs %d of a thousand", p.ID, p.BatchPermille)
		}
		for _, rate := range []int64{p.Rates.Input, p.Rates.CacheRead, p.Rates.CacheWrite, p.Rates.CacheWrite1h, p.Rates.Output} {
			if rate <= 0 || rate > prices.MaxRate {
				t.Errorf("row %d has a rate of %d", p.ID, rate)
			}
		}
	}
	for name, want := range map[[2]string]int64{
		{"anthropic", "claude-opus-4-8[1m]"}: 5_000_000, {"anthropic", "claude-opus-4-1-20250805"}: 15_000_000,
		{"anthropic", "claude-opus-4-20250514"}: 15_000_000, {"vertex", "claude-opus-4-1@20250805"}: 15_000_000,
		{"anthropic", "claude-sonnet-4-5-20250929"}: 3_000_000, {"anthropic", "claude-haiku-4-5"}: 1_000_000,
		{"bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"}: 3_000_000, {"openrouter", "anthropic/claude-3.5-haiku"}: 800_000,
		{"anthropic", "sonnet"}: 3_000_000, {"anthropic", "claude-haiku-3-5"}: 800_000, {"bedrock", "anthropic.claude-3-opus-20240229-v1:0"}: 15_000_000,
		{"openai", "gpt-5-codex"}: 1_250_000, {"azure", "gpt-5-2025-08-07"}: 1_250_000, {"openai", "gpt-5-mini"}: 250_000,
		{"openai", "gpt-5-pro"}: 15_000_000, {"openai", "gpt-5.1-codex"}: 1_250_000, {"openai", "gpt-5.1-codex-mini"}: 250_000,
		{"openai", "gpt-5-chat-latest"}: 1_250_000, {"openrouter", "google/gemini-2.5-flash-lite-preview-06-17"}: 100_000,
		// Others, of which the list knows nothing.
		{"openai", "gpt-5.2"}: 0, {"openai", "gpt-5.2-pro"}: 0, {"openai", "o4-mini-deep-research"}: 0, {"openai", "gpt-4o-audio-preview"}: 0,
		{"openai", "gpt-4o-2024-05-13"}: 0, {"google", "gemini-2.5-flash-image"}: 0, {"anthropic", "claude-opus-4-6-fast"}: 0,
		{"openai", "ft:gpt-4o:org"}: 0, {"openrouter", "openai/gpt-5-mini:free"}: 0, {"openai", "o1-mini"}: 0, {"openai", "text-embedding-3-large"}: 0,
	} {
		if p, found := prices.Builtin.Find(name[0], name[1], at("2026-11-01")); found != (want > 0) || p.Rates.Input != want {
			t.Errorf("%s costs %d by %q; want %d", name, p.Rates.Input, p.Model, want)
		}
	}
}
