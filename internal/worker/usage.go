package worker

import (
	"encoding/json"

	"fleetboard/handlers/api/apiclient"
	"fleetboard/internal/engines/transcript"
)

// usageEntry is an entry as the API takes it.
func usageEntry(e transcript.Entry) apiclient.UsageEntry {
	out := apiclient.UsageEntry{
		ID:                 e.ID,
		Provider:           e.Provider,
		Model:              e.Model,
		ProviderSession:    text(e.Session),
		At:                 e.At,
		InputTokens:        e.Input,
		OutputTokens:       e.Output,
		CacheReadTokens:    &e.CacheRead,
		CacheWriteTokens:   &e.CacheWrite,
		CacheWrite1HTokens: &e.CacheWrite1h,
	}
	if e.Cost != "" {
		out.CostUSD = json.RawMessage(`"` + e.Cost + `"`)
	}
	return out
}
