package engines_test

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/engines/scripted"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

var claude = program{name: "claude", model: "claude-sonnet-4-5",
	prepare: func(_ *testing.T, _, _, model string) []string {
		return []string{"ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
	}}

// The real Claude Code, against the scripted model.
func TestClaudeCode(t *testing.T) {
	t.Parallel()
	testProgram(t, claude, func(t *testing.T, printed string) (all transcript.Entry) {
		var l struct {
			ModelUsage map[string]struct {
				Input     int64 `json:"inputTokens"`
				Output    int64 `json:"outputTokens"`
				CacheRead int64 `json:"cacheReadInputTokens"`
				Cache5m   int64 `json:"cacheCreationEphemeral5mInputTokens"`
				Cache1h   int64 `json:"cacheCreationEphemeral1hInputTokens"`
			} `json:"modelUsage"`
		}
		last(t, printed, "result", &l)
		for _, u := range l.ModelUsage {
			all.Input, all.Output, all.CacheRead = all.Input+u.Input, all.Output+u.Output, all.CacheRead+u.CacheRead
			all.CacheWrite, all.CacheWrite1h = all.CacheWrite+u.Cache5m, all.CacheWrite1h+u.Cache1h
		}
		return all
	})
	t.Run("a rate limit", func(t *testing.T) {
		t.Parallel()
		w := worldOf(t, claude, scripted.New([]scripted.Step{{Refuse: scripted.Refuse{Status: 429, Times: 1000, RetryAfter: 1}}}))
		w.task.Env = append(w.task.Env, "CLAUDE_CODE_MAX_RETRIES=1")
		said := w.run(t.Context(), t)
		f := said.result.Failure
		if f == nil || f.Kind != "rate_limited" || !f.Retryable || f.RetryAfter < time.Second || f.RetryAfter > time.Minute {
			t.Errorf("failure %+v", f)
		}
		if !has(said.steps, "The model's API fails: 429 rate limit, try 1 of 1, next in 1 s") {
			t.Errorf("steps %q", said.steps)
		}
	})
	t.Run("its budget is used up", func(t *testing.T) {
		t.Parallel()
		w := worldOf(t, claude, scripted.New([]scripted.Step{{Command: "true", Usage: scripted.Usage{Input: 1_000_000, Output: 100_000}}}))
		w.task.MaxCostUSD = "0.01"
		said := w.run(t.Context(), t)
		if f := said.result.Failure; f == nil || f.Kind != "budget_exceeded" {
			t.Errorf("result %+v, failure %+v, steps %q", said.result, f, said.steps)
		}
		if sum(said.usage).Output != 100_000 {
			t.Errorf("used %+v", said.usage)
		}
	})
	t.Run("what is refused is not tried again", func(t *testing.T) {
		t.Parallel()
		w := worldOf(t, claude, scripted.New([]scripted.Step{{Refuse: scripted.Refuse{Status: 400, Times: 1000}}}))
		said := w.run(t.Context(), t)
		if f := said.result.Failure; f == nil || f.Kind != "other" || f.Retryable {
			t.Errorf("result %+v, failure %+v", said.result, f)
		}
	})
}
