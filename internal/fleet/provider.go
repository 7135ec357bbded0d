package fleet

import "strings"

// providers are whose models have names that begin like this.
var providers = []struct{ prefix, provider string }{
	{"claude", "anthropic"}, {"gpt-", "openai"}, {"codex", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"},
	{"gemini", "google"},
}

// paths are how names begin that say where a cloud keeps a model.
var paths = []struct{ prefix, provider string }{
	{"arn:aws", "bedrock"}, {"publishers/", "vertex"}, {"projects/", "vertex"}, {"models/", "google"},
}

// GuessProvider is whose model it is by its name: the cloud whose path it is, what stands
// before a slash, or what the well-known names say; "" where none does.
func GuessProvider(model string) string {
	for _, p := range paths {
		if strings.HasPrefix(strings.ToLower(model), p.prefix) {
			return p.provider
		}
	}
	if provider, _, found := strings.Cut(model, "/"); found {
		return provider
	}
	for _, p := range providers {
		if strings.HasPrefix(strings.ToLower(model), p.prefix) {
			return p.provider
		}
	}
	return ""
}
