package prices

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseFactor reads a part of a price as people write it: "0.5" is 500 thousandths, and ""
// the whole price. What is none, or has more than three decimal places, is below 0, which
// Save refuses.
func ParseFactor(text string) int64 {
	if text == "" {
		return WholePrice
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if len(whole) != 1 || len(strings.TrimRight(fraction, "0")) > 3 || strings.HasSuffix(text, ".") {
		return -1
	}
	n, err := strconv.ParseUint(whole+(fraction + "000")[:3], 10, 16)
	if _, rest := strconv.ParseUint("0"+fraction, 10, 64); err != nil || rest != nil {
		return -1
	}
	return int64(n)
}

// Factor returns a part of a price as people write it.
func Factor(permille int64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%03d", permille/WholePrice, permille%WholePrice), "0"), ".")
}
