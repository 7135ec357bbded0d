package modelname_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/spend/modelname"
)

// One model, as clouds, gateways and programs spell it. The first word is the provider.
func TestEveryCloudsNamesMeanTheModel(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][][2]string{
		"anthropic/claude-sonnet-4-5": {
			{"anthropic", "claude-sonnet-4-5"}, {"anthropic", "claude-sonnet-4-5-20250929"}, {"anthropic", "claude-sonnet-4-5-latest"},
			{"anthropic", "sonnet"}, {"anthropic", "sonnet[1m]"}, {"", "Sonnet"}, {"anthropic", "claude-sonnet-4-5[1m]"},
			{"Anthropic", "Claude-Sonnet-4-5"}, {"ANTHROPIC", "CLAUDE-SONNET-4-5-20250929"}, {"anthropic", " claude-sonnet-4-5 "},
			{"anthropic", "Claude Sonnet 4.5"}, {"anthropic", "claude_sonnet_4_5"}, {"", "claude-4.5-sonnet"}, {"", "claude-4-5-sonnet-20250929"},
			{"bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"}, {"amazon-bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
			{"aws-bedrock", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"}, {"Amazon Bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0"},
			{"bedrock", "apac.anthropic.claude-sonnet-4-5-20250929-v1:0"}, {"bedrock", "jp.anthropic.claude-sonnet-4-5-20250929-v1:0"},
			{"bedrock", "au.anthropic.claude-sonnet-4-5-20250929-v1"}, {"bedrock", "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"},
			{"bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0:200k"},
			{"bedrock", "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-5-20250929-v1:0"},
			{"bedrock", "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
			{"bedrock", "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"},
			{"anthropic", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"}, {"bedrock", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
			{"litellm", "bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0"}, {"litellm", "bedrock/us-east-1/anthropic.claude-sonnet-4-5-20250929-v1:0"},
			{"vertex", "claude-sonnet-4-5@20250929"}, {"google-vertex", "claude-sonnet-4-5@default"}, {"vertex_ai", "publishers/anthropic/models/claude-sonnet-4-5@20250929"},
			{"google", "projects/acme/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929"}, {"litellm", "vertex_ai/claude-sonnet-4-5@20250929"},
			{"google-vertex-anthropic", "claude-sonnet-4-5@latest"},
			{"openrouter", "anthropic/claude-sonnet-4.5"}, {"openrouter", "anthropic/claude-sonnet-4.5:beta"}, {"openrouter", "anthropic/claude-sonnet-4.5:thinking"},
			{"openrouter", "anthropic/claude-sonnet-4.5:nitro"}, {"openrouter", "anthropic/claude-4.5-sonnet-20250929"}, {"openai", "openrouter/anthropic/claude-sonnet-4.5"},
			{"openrouter", "~anthropic/claude-sonnet-latest"}, {"vercel", "anthropic/claude-sonnet-4.5"}, {"azure-ai-foundry", "claude-sonnet-4-5"},
			{"anthropic", "claude-sonnet-4-5-thinking"}, {"", "claude-sonnet-4-5-20250929-thinking"},
		},
		"anthropic/claude-sonnet-4": {{"anthropic", "claude-sonnet-4-20250514"}, {"anthropic", "claude-4-sonnet-20250514"},
			{"bedrock", "us.anthropic.claude-sonnet-4-20250514-v1:0"}, {"vertex", "claude-sonnet-4@20250514"}, {"openrouter", "anthropic/claude-sonnet-4"}},
		"anthropic/claude-sonnet-4-0": {{"anthropic", "claude-sonnet-4-0"}},
		"anthropic/claude-opus-4":     {{"anthropic", "claude-opus-4-20250514"}, {"bedrock", "us.anthropic.claude-opus-4-20250514-v1:0"}},
		"anthropic/claude-opus-4-1": {{"anthropic", "claude-opus-4-1-20250805"}, {"vertex", "claude-opus-4-1@20250805"}, {"openrouter", "anthropic/claude-opus-4.1"},
			{"bedrock", "us.anthropic.claude-opus-4-1-20250805-v1:0"}, {"anthropic", "claude-opus-4-1[1m]"}},
		"anthropic/claude-opus-4-5": {{"anthropic", "opus"}, {"anthropic", "claude-opus-4-5-20251101"}, {"bedrock", "global.anthropic.claude-opus-4-5-20251101-v1:0"}},
		"anthropic/claude-haiku-4-5": {{"anthropic", "haiku"}, {"anthropic", "claude-haiku-4-5-20251001"}, {"vertex", "claude-haiku-4-5@20251001"},
			{"bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0"}, {"openrouter", "anthropic/claude-haiku-4.5"}},
		"anthropic/claude-3-5-haiku": {{"anthropic", "claude-3-5-haiku-20241022"}, {"anthropic", "claude-3-5-haiku-latest"}, {"openrouter", "anthropic/claude-3.5-haiku"},
			{"bedrock", "us.anthropic.claude-3-5-haiku-20241022-v1:0"}, {"vertex", "claude-3-5-haiku@20241022"}, {"", "claude-haiku-3.5"}},
		"anthropic/claude-3-5-sonnet": {{"bedrock", "anthropic.claude-3-5-sonnet-20241022-v2:0"}, {"vertex", "claude-3-5-sonnet-v2@20241022"},
			{"anthropic", "claude-3-5-sonnet-latest"}, {"openrouter", "anthropic/claude-3.5-sonnet:beta"}},
		"anthropic/claude-3-7-sonnet": {{"openrouter", "anthropic/claude-3.7-sonnet:thinking"}, {"anthropic", "claude-3-7-sonnet-20250219"}},
		"anthropic/claude-3-haiku":    {{"bedrock", "anthropic.claude-3-haiku-20240307-v1:0:48k"}, {"anthropic", "claude-3-haiku-20240307"}},
		"anthropic/claude-3-opus":     {{"anthropic", "claude-3-opus-latest"}, {"vertex", "claude-3-opus@20240229"}},
		"openai/gpt-5": {{"openai", "gpt-5"}, {"openai", "GPT-5"}, {"azure", "gpt-5-2025-08-07"}, {"azure-openai", "azure/gpt-5"}, {"Azure_OpenAI", "GPT-5-2025-08-07"},
			{"openrouter", "openai/gpt-5"}, {"openai", "gpt-5-high"}, {"azure", "azure/eu/gpt-5-2025-08-07"}, {"openai", "openai/gpt-5"}},
		"openai/gpt-5-mini":         {{"azure", "gpt-5-mini-2025-08-07"}, {"openrouter", "openai/gpt-5-mini"}, {"", "GPT-5 mini"}},
		"openai/gpt-5-nano":         {{"openai", "gpt-5-nano-2025-08-07"}},
		"openai/gpt-5-pro":          {{"openai", "gpt-5-pro-2025-10-06"}, {"openrouter", "openai/gpt-5-pro"}},
		"openai/gpt-5-codex":        {{"openai", "gpt-5-codex"}, {"openai", "gpt-5-codex-high"}, {"openrouter", "openai/gpt-5-codex"}},
		"openai/gpt-5-chat":         {{"openai", "gpt-5-chat-latest"}},
		"openai/gpt-5.1":            {{"openai", "gpt-5.1-2025-11-13"}, {"azure", "gpt-5.1"}},
		"openai/gpt-5.1-codex-mini": {{"openai", "gpt-5.1-codex-mini"}},
		"openai/gpt-4o":             {{"azure", "gpt-4o-2024-11-20"}, {"openai", "gpt-4o-2024-08-06"}},
		"openai/gpt-4o-mini":        {{"azure", "gpt-4o-mini-2024-07-18"}},
		"openai/gpt-4.1":            {{"openai", "gpt-4.1-2025-04-14"}},
		"openai/gpt-3.5-turbo":      {{"azure", "gpt-35-turbo"}},
		"openai/o1":                 {{"openai", "o1-2024-12-17"}},
		"openai/o1-mini":            {{"openai", "o1-mini-2024-09-12"}},
		"openai/o3":                 {{"openai", "o3-2025-04-16"}, {"openrouter", "openai/o3"}},
		"openai/o3-mini":            {{"openrouter", "openai/o3-mini-high"}},
		"openai/o4-mini":            {{"openrouter", "openai/o4-mini-high"}, {"azure", "o4-mini-2025-04-16"}},
		"openai/codex-mini":         {{"openai", "codex-mini-latest"}},
		"google/gemini-2.5-pro": {{"google", "gemini-2.5-pro"}, {"google", "models/gemini-2.5-pro"}, {"vertex", "publishers/google/models/gemini-2.5-pro"},
			{"openrouter", "google/gemini-2.5-pro-preview-05-06"}, {"litellm", "gemini/gemini-2.5-pro"}, {"google", "gemini-2-5-pro"}, {"vertex", "google/gemini-2.5-pro@001"},
			{"google", "gemini-2.5-pro-001"}},
		"google/gemini-2.5-flash":      {{"google", "gemini-2.5-flash-preview-09-2025"}, {"vertex", "gemini-2.5-flash"}},
		"google/gemini-2.5-flash-lite": {{"google", "gemini-2.5-flash-lite-preview-06-17"}},
		"google/gemini-3-pro":          {{"google", "gemini-3-pro-preview"}, {"openrouter", "google/gemini-3-pro-preview"}},
	} {
		for _, n := range names {
			maker, name, known := modelname.Canonical(n[0], n[1])
			if got := maker + "/" + name; got != want || !known {
				t.Errorf("%s %s is %s, %t; want %s", n[0], n[1], got, known, want)
			}
		}
	}
}

// Names that resemble one model and are another: each keeps what sets it apart.
func TestOtherModelsStayOthers(t *testing.T) {
	t.Parallel()
	for _, apart := range [][]string{
		{"gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5-pro", "gpt-5-codex", "gpt-5-chat", "gpt-5.1", "gpt-5.2", "gpt-5-image", "gpt-5-search-api"},
		{"claude-3-5-haiku", "claude-haiku-4-5", "claude-3-haiku", "claude-3-5-sonnet", "claude-sonnet-4-5", "claude-sonnet-4", "claude-opus-4-1", "claude-opus-4-5"},
		{"o1", "o1-mini", "o1-pro", "o3", "o3-mini", "o3-pro", "o3-deep-research", "o4-mini", "o4-mini-deep-research"},
		{"gpt-4o", "gpt-4o-mini", "gpt-4o-audio-preview", "gpt-4o-realtime-preview", "gpt-4o-transcribe", "gpt-4", "gpt-4-turbo", "gpt-4.1", "gpt-4.1-mini", "chatgpt-4o-latest"},
		{"gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-2.5-flash-image-preview", "gemini-2.5-flash-preview-tts", "gemini-2.5-pro", "gemini-3-pro", "gemini-3-pro-image-preview"},
	} {
		seen := map[string]string{}
		for _, model := range apart {
			_, name, known := modelname.Canonical("", model)
			if before, twice := seen[name]; !known || twice {
				t.Errorf("%s is %s, %t, as %s is", model, name, known, before)
			}
			seen[name] = model
		}
	}
}

func TestWhatTheTablesDoNotKnowStaysUnknown(t *testing.T) {
	t.Parallel()
	for _, n := range [][2]string{
		{"openai", "ft:gpt-4o-2024-08-06:acme::abc123"}, {"openai", "ft:gpt-4o:org"}, {"azure", "gpt-4o-mini-2024-07-18.ft-0123456789"}, {"azure", "gpt-35-turbo:ft-acme"},
		{"openrouter", "anthropic/claude-sonnet-4.5:free"}, {"openrouter", "openai/gpt-5-mini:free"}, {"openrouter", "anthropic/claude-sonnet-4.5:extended"},
		{"openrouter", "google/gemini-2.5-pro:online"}, {"openai", "text-embedding-3-small"}, {"openai", "text-embedding-ada-002"}, {"google", "text-embedding-004"},
		{"bedrock", "amazon.titan-embed-text-v2:0"}, {"bedrock", "amazon.nova-pro-v1:0"}, {"bedrock", "cohere.embed-english-v3"},
		{"bedrock", "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6"},
		{"bedrock", "arn:aws:bedrock:us-east-1:123456789012:provisioned-model/abc"}, {"bedrock", "arn:aws:bedrock:us-east-1:123456789012:custom-model/anthropic.claude-3-haiku-20240307-v1:0/abc"},
		{"vertex", "projects/acme/locations/us-central1/endpoints/1234567890"}, {"google", "tunedModels/gemini-2.5-flash-acme"},
		{"openai", "gpt-4o-2024-05-13"}, {"azure", "gpt-4o-2024-05-13"}, {"google", "gemini-2.5-flash-preview-04-17"},
		{"azure", "our-coder"}, {"ollama", "claude-sonnet-4-5"}, {"house", "gpt-5"}, {"github-copilot", "claude-sonnet-4.5"}, {"openrouter", "acme/claude-sonnet-4.5"},
		{"openrouter", "meta-llama/llama-3.3-70b"}, {"openrouter", "qwen/qwen3-coder:free"}, {"", "default"}, {"", ""}, {"anthropic", "/"}, {"anthropic", "claude-sonnet-4-5/../x"},
		{"anthropic", "claude-opus-4-6-fast"}, {"anthropic", "claude-sonnet-4-5-acme"}, {"anthropic", "claude-instant-1.2"}, {"anthropic", "claude-"}, {"anthropic", "claude-sonnet-4-5:"}, {"anthropic", "-20250929"},
	} {
		if maker, name, known := modelname.Canonical(n[0], n[1]); known {
			t.Errorf("%s %q is %s/%s", n[0], n[1], maker, name)
		}
	}
}

// Whatever a name is, what it becomes becomes itself again.
func FuzzCanonical(f *testing.F) {
	for _, name := range []string{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic/claude-3.5-haiku:beta", "gpt-5-2025-08-07", "gemini-2-5-pro-preview-05-06", "o3-high", "a/b", "[1m]", "-v1:0"} {
		f.Add("", name)
	}
	f.Fuzz(func(t *testing.T, provider, model string) {
		maker, name, known := modelname.Canonical(provider, model)
		if !known {
			return
		}
		again, same, still := modelname.Canonical(maker, name)
		if again != maker || same != name || !still {
			t.Errorf("%q %q is %s/%s, and that is %s/%s", provider, model, maker, name, again, same)
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	for b.Loop() {
		modelname.Canonical("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
	}
}
