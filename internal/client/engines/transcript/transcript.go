package transcript

import (
	"math/big"
	"time"
)

// Run is one start of a program.
type Run struct {
	// ID names the run: another one for each start, and the same one where its output is
	// read again.
	ID string
	// Provider and Model are what the run was started with. Codex and OpenCode do not
	// print them.
	Provider string
	Model    string
}

// Entry is a usage entry as the API takes it. Each token is in one meter only.
type Entry struct {
	ID           string    `json:"id"`
	Provider     string    `json:"provider"`
	Model        string    `json:"model"`
	Session      string    `json:"provider_session,omitempty"`
	Input        int64     `json:"input_tokens"`
	CacheRead    int64     `json:"cache_read_tokens"`
	CacheWrite   int64     `json:"cache_write_tokens"` // for five minutes, or as the provider does
	CacheWrite1h int64     `json:"cache_write_1h_tokens"`
	Output       int64     `json:"output_tokens"` // with those of reasoning
	Cost         string    `json:"cost_usd,omitempty"`
	At           time.Time `json:"at"`
}

// Translator makes entries of the lines of a run. It is not for several goroutines.
type Translator interface {
	// Line reads a line and returns the entries that have grown. A line that it does not
	// know has none.
	Line(line []byte, at time.Time) []Entry
	// End returns the last entries, once the program has ended or its output is over.
	End(at time.Time) []Entry
}

// dollars returns an amount as a program printed it, in whole billionths, as the API takes it;
// "" where none was printed.
func dollars(number string) string {
	r, ok := new(big.Rat).SetString(number)
	if !ok || r.Sign() < 0 {
		return ""
	}
	return r.FloatString(9)
}
