//go:build agents

package engines_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/engines/scripted"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

var codex = program{name: "codex",
	prepare: func(t *testing.T, home, _, model string) []string {
		dir := filepath.Join(home, ".codex")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(`model = "gpt-5-codex"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "`+model+`/v1"
wire_api = "responses"
env_key = "KEY"
request_max_retries = 1
stream_max_retries = 2
`), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"KEY=none"}
	}}

// The real Codex, against the scripted model.
func TestCodex(t *testing.T) {
	t.Parallel()
	testProgram(t, codex, func(t *testing.T, printed string) transcript.Entry {
		var l struct {
			Usage struct {
				Input  int64 `json:"input_tokens"`
				Cached int64 `json:"cached_input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"usage"`
		}
		last(t, printed, "turn.completed", &l)
		return transcript.Entry{Input: l.Usage.Input - l.Usage.Cached, CacheRead: l.Usage.Cached, Output: l.Usage.Output}
	})
	t.Run("a rate limit", func(t *testing.T) {
		t.Parallel()
		w := worldOf(t, codex, scripted.New([]scripted.Step{{Refuse: scripted.Refuse{Status: 429, Times: 1000}}}))
		if f := w.run(t.Context(), t).result.Failure; f == nil || f.Kind != "rate_limited" || !f.Retryable {
			t.Errorf("failure %+v", f)
		}
	})
	t.Run("what is refused is not tried again", func(t *testing.T) {
		t.Parallel()
		for status, want := range map[int]engines.Failure{
			400: {Kind: "other", Message: "The script refuses."},
			401: {Kind: "auth", Message: "unexpected status 401 Unauthorized: The script refuses.", Retryable: true}, // on another host
		} {
			w := worldOf(t, codex, scripted.New([]scripted.Step{{Refuse: scripted.Refuse{Status: status, Times: 1000}}}))
			f := w.run(t.Context(), t).result.Failure
			if f == nil || f.Kind != want.Kind || f.Retryable != want.Retryable || !strings.HasPrefix(f.Message, want.Message) {
				t.Errorf("%d: failure %+v", status, f)
			}
		}
	})
	t.Run("usage names the model of the configuration", func(t *testing.T) {
		t.Parallel()
		w := worldOf(t, codex, scripted.New(scripted.Greeting))
		for _, u := range w.run(t.Context(), t).usage {
			if u.Provider != "local" || u.Model != "gpt-5-codex" {
				t.Errorf("usage %+v", u)
			}
		}
	})
}
