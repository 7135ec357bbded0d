//go:build agents

package engines_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/client/engines/scripted"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

var openCode = program{name: "opencode", model: "local/scripted",
	prepare: func(t *testing.T, _, repo, model string) []string {
		if err := os.WriteFile(filepath.Join(repo, "opencode.json"), []byte(`{"provider": {"local": {"npm": "@ai-sdk/openai-compatible",
			"options": {"baseURL": "`+model+`/v1", "apiKey": "none"}, "models": {"scripted": {"cost": {"input": 1.25, "output": 10}}}}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return nil
	}}

// The real OpenCode, against the scripted model.
func TestOpenCode(t *testing.T) {
	t.Parallel()
	testProgram(t, openCode, func(_ *testing.T, printed string) (all transcript.Entry) {
		for line := range strings.Lines(printed) {
			var l struct {
				Type string `json:"type"`
				Part struct {
					Tokens struct {
						Input     int64 `json:"input"`
						Output    int64 `json:"output"`
						Reasoning int64 `json:"reasoning"`
						Cache     struct {
							Read  int64 `json:"read"`
							Write int64 `json:"write"`
						} `json:"cache"`
					} `json:"tokens"`
				} `json:"part"`
			}
			if json.Unmarshal([]byte(line), &l) == nil && l.Type == "step_finish" {
				u := l.Part.Tokens
				all.Input, all.Output = all.Input+u.Input, all.Output+u.Output+u.Reasoning
				all.CacheRead, all.CacheWrite = all.CacheRead+u.Cache.Read, all.CacheWrite+u.Cache.Write
			}
		}
		return all
	})
	t.Run("what is refused is not tried again", func(t *testing.T) {
		t.Parallel()
		w := worldOf(t, openCode, scripted.New([]scripted.Step{{Refuse: scripted.Refuse{Status: 400, Times: 1000}}}))
		if f := w.run(t.Context(), t).result.Failure; f == nil || f.Kind != "other" || f.Retryable {
			t.Errorf("failure %+v", f)
		}
	})
}
