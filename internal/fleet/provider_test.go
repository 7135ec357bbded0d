package fleet

import "testing"

func TestProviderOfAModel(t *testing.T) {
	for model, want := range map[string]string{"claude-opus-4-8": "anthropic", "Claude": "anthropic", "gpt-5-codex": "openai",
		"codex-mini": "openai", "o3": "openai", "gemini-3-pro": "google", "openrouter/claude-opus": "openrouter", "house-model": "", "": "",
		"publishers/anthropic/models/claude-sonnet-4-5@20250929": "vertex", "models/gemini-2.5-pro": "google",
		"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0": "bedrock"} {
		if got := GuessProvider(model); got != want {
			t.Errorf("%q is of %q; want %q", model, got, want)
		}
	}
}
