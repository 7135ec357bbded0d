package layout

import "strconv"

// seat is one mark of the field behind the log-in card.
type seat struct{ class, x, y string }

// seats lays out 48 by 10 seats; a few are taken, more of them at the bottom.
// The pattern is always the same.
func seats() []seat {
	const cols, rows = 48, 10
	out := make([]seat, 0, cols*rows)
	state := uint32(0x9e3779b9)
	for c := range cols {
		for r := range rows {
			state = state*1664525 + 1013904223
			class := "lf-c"
			if pick := state >> 24; pick < uint32(6+5*r) {
				class = "lf-b"
				if pick%3 == 0 {
					class = "lf-a"
				}
			}
			out = append(out, seat{class, strconv.Itoa(c * 30), strconv.Itoa(r * 34)})
		}
	}
	return out
}
