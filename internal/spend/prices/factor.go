package prices

import (
	"fmt"
	"strconv"
	"strings"
)

// Invalid stands for a number that could not be read from a text. Save refuses it, by place and
// field together with whatever else is wrong.
const Invalid = -1

// What rates and factors must be, for those who type them.
const (
	RateRule   = "It must be an amount of dollars for a million tokens like 1.25, 0 to 1000, with at most 6 decimal places."
	FactorRule = "It must be a part of the price like 0.5, 0 to 1, with at most 3 decimal places."
)

// ParseFactor reads a part of a price as people write it: "0.5" is 500 thousandths, and ""
// the whole price. A text that is no such number, or has more than three decimal places, gives
// Invalid.
func ParseFactor(text string) int64 {
	if text == "" {
		return WholePrice
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if len(whole) != 1 || len(strings.TrimRight(fraction, "0")) > 3 || strings.HasSuffix(text, ".") {
		return Invalid
	}
	n, err := strconv.ParseUint(whole+(fraction + "000")[:3], 10, 16)
	if _, rest := strconv.ParseUint("0"+fraction, 10, 64); err != nil || rest != nil {
		return Invalid
	}
	return int64(n)
}

// Factor returns a part of a price as people write it.
func Factor(permille int64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%03d", permille/WholePrice, permille%WholePrice), "0"), ".")
}
