package ui

import "strconv"

// Dollars writes billionths of a dollar as people read them: "$1,240.50". What is not 0
// and less than half a cent is "under $0.01".
func Dollars(nanos int64) string {
	const cent = 10_000_000
	sign, rest := "", uint64(nanos) //nolint:gosec // the sign is taken off below
	if nanos < 0 {
		sign, rest = "−", -rest
	}
	cents := (rest + cent/2) / cent
	if cents == 0 && rest > 0 {
		return "under $0.01"
	}
	fraction := strconv.FormatUint(cents%100, 10)
	if len(fraction) < 2 {
		fraction = "0" + fraction
	}
	return sign + "$" + Count(int(cents/100)) + "." + fraction //nolint:gosec // far below the greatest int
}
