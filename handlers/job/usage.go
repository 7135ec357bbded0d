package job

import (
	"strings"

	usageparts "github.com/fleetboard/fleetboard/handlers/parts/usage"
	"github.com/fleetboard/fleetboard/internal/spend"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/ui"
)

// usedModel returns what models were used for, as pages show it; nothing where they were
// not.
func usedModel(u spend.Usage) view.Used {
	if u.Entries == 0 {
		return view.Used{}
	}
	m := view.Used{Tokens: tokens(u.Input) + " in, " + tokens(u.Output) + " out", Cost: usageparts.Cost(u)}
	var cached []string
	if u.CacheRead > 0 {
		cached = append(cached, tokens(u.CacheRead)+" read from the cache")
	}
	if written := u.CacheWrite + u.CacheWrite1h; written > 0 {
		cached = append(cached, tokens(written)+" written to the cache")
	}
	m.Cache = strings.Join(cached, ", ")
	return m
}

func tokens(n int64) string { return ui.Count(int(n)) }
