package prices

import (
	_ "embed"
	"encoding/json"
	"fmt"
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
		list = append(list, Price{ID: r.ID, BatchPermille: batch, Provider: r.Provider, Model: r.Model, From: from, Source: r.Source,
			Rates: Tokens{Input: r.Input, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite, CacheWrite1h: r.CacheWrite1h,
				Output: r.Output}})
	}
	return list
}
