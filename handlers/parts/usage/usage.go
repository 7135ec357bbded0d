// Package usage writes what was used in the words and bars that several pages share.
package usage

import (
	"strconv"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Cost never shows a sum as whole in which something is missing.
func Cost(u spend.Usage) string {
	known, any := u.Cost()
	switch {
	case !any:
		return "unpriced"
	case u.Unpriced > 0:
		return known.String() + " + unpriced"
	}
	return known.String()
}

// Tokens writes a number of tokens in few places: "18.2 M".
func Tokens(n int64) string {
	for _, unit := range []struct {
		from, size int64
		name       string
	}{{1e12, 1e12, " T"}, {1e9, 1e9, " G"}, {1e6, 1e6, " M"}, {1e4, 1e3, " k"}} {
		if n >= unit.from {
			return strconv.FormatFloat(float64(n)/float64(unit.size), 'f', 1, 64) + unit.name
		}
	}
	return ui.Count(int(n))
}

// Percent writes a part of 1: "71%".
func Percent(share float64) string { return strconv.Itoa(int(share*100+0.5)) + "%" }

// Bars are groups with their shares of a whole, the bars against the largest: by money, or by
// tokens where nothing has cost anything. The names and addresses are the caller's.
func Bars(groups []usage.Sum, whole spend.Usage) []ui.BarRow {
	var dearest, most float64
	for _, g := range groups {
		dearest, most = max(dearest, float64(g.Charged)), max(most, float64(g.Tokens()))
	}
	rows := make([]ui.BarRow, len(groups))
	for i, g := range groups {
		r := ui.BarRow{Cost: Cost(g.Usage), Series: "1", About: Tokens(g.Tokens()) + " tokens"}
		if share, any := g.CacheShare(); any {
			r.About += ", " + Percent(share) + " cached"
		}
		part, all, largest := float64(g.Charged), float64(whole.Charged), dearest
		if dearest == 0 {
			part, all, largest = float64(g.Tokens()), float64(whole.Tokens()), most
		}
		if all > 0 {
			r.Share = Percent(part / all)
		}
		r.Width = strconv.Itoa(int(1000 * part / max(largest, 1)))
		rows[i] = r
	}
	return rows
}
