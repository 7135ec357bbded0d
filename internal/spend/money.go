package spend

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
)

// Nanos is an amount of money in billionths of a dollar.
type Nanos int64

// MaxCost is the most that one entry may have cost.
const MaxCost = 1000 * dollar

const dollar Nanos = 1_000_000_000

const (
	places = 9  // of a dollar's decimals
	digits = 19 // of the greatest number
)

var amountForm = regexp.MustCompile(`^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,9}))?$`)

// MaxAmount is the most that a budget may have: a billion dollars, of which a few still
// add up to a number.
const MaxAmount = 1_000_000_000 * dollar

// MaxAmountText is how many characters an amount may be written with.
const MaxAmountText = 40

// ParseUSD is ParseAmount of the cost of one entry, cost_usd, of at most MaxCost. Programs add
// costs up as floats: what is beyond nine decimal places is rounded, half up.
func ParseUSD(text string) (Nanos, error) { return parseAmount(costField, text, MaxCost, true) }

// ParseAmount reads an amount of dollars as JSON writes a number, exactly: "0.3" or
// "1e-9". Fault: Validation of the field, for what is no such number, is below 0 or
// above most, or has more than nine decimal places.
func ParseAmount(field, text string, most Nanos) (Nanos, error) {
	return parseAmount(field, text, most, false)
}

func parseAmount(field, text string, most Nanos, rounds bool) (Nanos, error) {
	parts := amountForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, fault.Invalid(field, "It must be an amount of dollars like 0.0123.")
	}
	// The amount is mantissa * 10^power nano-dollars.
	mantissa := strings.TrimLeft(parts[2]+parts[3], "0")
	power := places - len(parts[3])
	if parts[4] != "" {
		exponent, err := strconv.Atoi(parts[4])
		if err != nil {
			return 0, fault.Invalid(field, "It must be an amount of dollars like 0.0123.")
		}
		power += exponent
	}
	whole := strings.TrimRight(mantissa, "0")
	power += len(mantissa) - len(whole)
	switch {
	case whole == "":
		return 0, nil
	case parts[1] != "":
		return 0, fault.Invalid(field, "It must be at least 0.")
	case power < 0 && !rounds:
		return 0, fault.Invalid(field, "It must have at most %d decimal places: billionths of a dollar.", places)
	case len(whole)+power > digits:
		return 0, tooDear(field, most)
	}
	n, err := scaled(whole, power)
	if err != nil || n > most {
		return 0, tooDear(field, most)
	}
	return n, nil
}

// scaled is digits * 10^power, rounded half up to a whole number.
func scaled(digits string, power int) (Nanos, error) {
	if power >= 0 {
		n, err := strconv.ParseInt(digits+strings.Repeat("0", power), 10, 64)
		return Nanos(n), err
	}
	cut := len(digits) + power
	if cut < 0 {
		return 0, nil
	}
	n, err := strconv.ParseInt("0"+digits[:cut], 10, 64)
	if digits[cut] >= '5' {
		n++
	}
	return Nanos(n), err
}

func tooDear(field string, most Nanos) error {
	return fault.Invalid(field, "It must be at most %s.", most)
}

// nanosPerRate is what a million tokens cost at the lowest rate, in billionths of a dollar.
const nanosPerRate = 1000

// ParseRate reads a rate as people write it: dollars for a million tokens. A text that is no
// such amount gives prices.Invalid.
func ParseRate(text string) int64 {
	n, err := ParseAmount("rate", text, MaxAmount)
	if err != nil || n%nanosPerRate != 0 {
		return prices.Invalid
	}
	return int64(n / nanosPerRate)
}

// RateAmount returns what a million tokens cost at a rate.
func RateAmount(rate int64) Nanos { return Nanos(rate) * nanosPerRate }

const cent = dollar / 100

// String returns the amount as people read it: "$1,240.50", and of less than a cent the first
// two digits that count, "$0.0042".
func (n Nanos) String() string {
	sign, rest := n.split()
	step := uint64(cent)
	if rest < step {
		for step = 1; rest/step >= 100; {
			step *= 10
		}
	}
	return sign + "$" + written((rest+step/2)/step*step)
}

// Exact returns the amount with all its digits, as a rate is given: "$0.50", "$0.0375".
func (n Nanos) Exact() string {
	sign, rest := n.split()
	return sign + "$" + written(rest)
}

// Floor takes off what is beyond whole cents, where there are any: what is free is never said
// to be more than it is.
func (n Nanos) Floor() Nanos {
	if n < cent {
		return n
	}
	return n - n%cent
}

// split parts the sign from the amount.
func (n Nanos) split() (sign string, rest uint64) {
	if n < 0 {
		return "−", -uint64(n) //nolint:gosec // modulo 2⁶⁴, so that the least number has its amount too
	}
	return "", uint64(n)
}

// written returns an amount with at least two decimal places and commas between thousands.
func written(nanos uint64) string {
	whole, fraction := strconv.FormatUint(nanos/uint64(dollar), 10), fmt.Sprintf("%09d", nanos%uint64(dollar))
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + "." + fraction[:2] + strings.TrimRight(fraction[2:], "0")
}

// Fixed returns the amount in dollars with all nine places, as the API gives money:
// "12.340000000".
func (n Nanos) Fixed() string {
	text := n.USD()
	whole, fraction, _ := strings.Cut(text, ".")
	return whole + "." + fraction + strings.Repeat("0", places-len(fraction))
}

// MarshalJSON writes Fixed as a text, as the API gives amounts. Rows for the database have numbers.
func (n Nanos) MarshalJSON() ([]byte, error) { return []byte(`"` + n.Fixed() + `"`), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Nanos) UnmarshalJSON(text []byte) error {
	digits := strings.Replace(strings.Trim(string(text), `"`), ".", "", 1)
	nanos, err := strconv.ParseInt(digits, 10, 64)
	*n = Nanos(nanos)
	return err
}

// USD returns the amount in dollars, exactly, as JSON writes a number.
func (n Nanos) USD() string {
	sign, rest := n.split()
	if sign != "" {
		sign = "-"
	}
	text := strconv.FormatUint(rest, 10)
	if len(text) <= places {
		text = strings.Repeat("0", places+1-len(text)) + text
	}
	cut := len(text) - places
	fraction := strings.TrimRight(text[cut:], "0")
	if fraction == "" {
		return sign + text[:cut]
	}
	return sign + text[:cut] + "." + fraction
}
