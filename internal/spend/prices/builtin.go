package prices

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed builtin.json
var builtinText []byte

// Builtin is the list of public prices, as their sources had them. A row is never changed:
// a new price is a new row with an id of its own.
var Builtin = readBuiltin(builtinText)

func readBuiltin(text []byte) List {
	var rows []struct {
		ID           int64  `json:"id"`
		Provider     string `json:"provider"`
		Model        string `json:"model"`
		ValidFrom    string `json:"valid_from"`
		Input        int64  `json:"input"`
		CacheRead    int64  `json:"cache_read"`
		CacheWrite   int64  `json:"cache_write"`
		CacheWrite1h int64  `json:"cache_write_1h"`
		Output       int64  `json:"output"`
		Batch        *int64 `json:"batch_permille"` // nothing is the whole price
		Source       string `json:"source"`
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		panic(fmt.Errorf("the built-in prices: %w", err))
	}
	list := make(List, 0, len(rows))
	for _, r := range rows {
		from, err := time.Parse(time.DateOnly, r.ValidFrom)
		if err != nil {
			panic(fmt.Errorf("the built-in price %d: %w", r.ID, err))
		}
		batch := int64(WholePrice)
		if r.Batch != nil {
			batch = *r.Batch
		}
		list = append(list, Price{
			ID:       r.ID,
			Provider: r.Provider,
			Model:    r.Model,
			From:     from,
			Rates: Tokens{
				Input:        r.Input,
				CacheRead:    r.CacheRead,
				CacheWrite:   r.CacheWrite,
				CacheWrite1h: r.CacheWrite1h,
				Output:       r.Output,
			},
			BatchPermille: batch,
			Source:        r.Source,
		})
	}
	return list
}

// Suggestions returns names of models that have a built-in price, in alphabetical order. Of the
// Claude models that the list has only as patterns it returns one each.
func Suggestions() []string {
	names := []string{"claude-haiku-4-5", "claude-opus-4-5", "claude-sonnet-4-5"}
	for _, p := range Builtin {
		if !strings.Contains(p.Model, "*") {
			names = append(names, p.Model)
		}
	}
	slices.Sort(names)
	return names
}
