package spend_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
)

// A cost is kept to the billionth of a dollar; what floats add beyond that is rounded.
func TestAmountsOfDollars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]spend.Nanos{
		"0": 0, "0.0": 0, "-0": 0, "0e99": 0, "0.000000000000": 0,
		"0.1": 100_000_000, "0.2": 200_000_000, "0.3": 300_000_000, "0.30": 300_000_000,
		"1e-9": 1, "0.000000001": 1, "1E-9": 1, "10e-10": 1, "0.0000000010000": 1, "100000e-14": 1,
		"1": 1_000_000_000, "12.345678901": 12_345_678_901, "1.5e2": 150_000_000_000, "1e+2": 100_000_000_000,
		"0.30000000000000004": 300_000_000, "0.1234567894": 123_456_789, "0.1234567895": 123_456_790, "0.0000000001": 0, "5e-10": 1,
		"4.9999999999e-10": 0, "1e-10": 0, "1e-999999999": 0, "0.99999999999999989": 1_000_000_000, "999.9999999999": 1_000_000_000_000,
		"1000.0000000001": 1_000_000_000_000, "0.029999999999999999": 30_000_000, "1.7976931348623157e-308": 0,
		"0.0000000004999999999999999999999999999999999999999999999999": 0, "12.3456789014999999999999999999999999": 12_345_678_901,
		"1000": 1_000_000_000_000, "1e3": 1_000_000_000_000, "999.999999999": 999_999_999_999,
	} {
		got, err := spend.ParseUSD(text)
		if err != nil || got != want {
			t.Errorf("%s dollars = %d, %v; want %d nano-dollars", text, got, err, want)
		}
	}
	for text, problem := range map[string]string{
		"": "an amount", "dollars": "an amount", "1.": "an amount", ".5": "an amount", "01": "an amount",
		"+1": "an amount", " 1": "an amount", "1,5": "an amount", "$1": "an amount", "0x1": "an amount",
		"NaN": "an amount", "Infinity": "an amount", "1e": "an amount", "1e9999999999": "an amount", "١": "an amount",
		"-0.01": "at least 0", "-1e9": "at least 0",
		"-0.0000000001": "at least 0", "1000.0000000005": "at most $1,000.00", "99999999999999999999.123456789012": "at most $1,000.00",
		"1000.000000001": "at most $1,000.00", "1001": "at most $1,000.00", "1e4": "at most $1,000.00", "1e999999999": "at most $1,000.00",
		"9223372036.854775808": "at most $1,000.00", "18446744073.709551616": "at most $1,000.00",
		strings.Repeat("9", 300): "at most $1,000.00",
	} {
		got, err := spend.ParseUSD(text)
		told := fault.From(err).Fields["cost_usd"]
		if !fault.Is(err, fault.Validation) || !strings.Contains(told, problem) {
			t.Errorf("%q = %d, %v; want a refusal of cost_usd that says %q", text, got, err, problem)
		}
	}
}

// A tenth and two tenths are three tenths, which floats are not.
func TestAmountsAddUp(t *testing.T) {
	t.Parallel()
	var sum spend.Nanos
	for _, text := range []string{"0.1", "0.2"} {
		n, err := spend.ParseUSD(text)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if sum.USD() != "0.3" {
		t.Errorf("0.1 and 0.2 are %s", sum.USD())
	}
}

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		n := spend.Nanos(rapid.Int64Range(0, int64(spend.MaxCost)).Draw(r, "nano-dollars"))
		got, err := spend.ParseUSD(n.USD())
		if err != nil || got != n {
			r.Errorf("%d is written as %s and read as %d, %v", n, n.USD(), got, err)
		}
	})
	for n, want := range map[spend.Nanos]string{0: "0", 1: "0.000000001", -1: "-0.000000001", 1_200_000_000: "1.2",
		9_223_372_036_854_775_807: "9223372036.854775807", -9_223_372_036_854_775_808: "-9223372036.854775808"} {
		if got := n.USD(); got != want {
			t.Errorf("%d is %s; want %s", n, got, want)
		}
	}
}

// People read whole cents, of less than one the two digits that count, and rates to the last digit.
func TestAmountsAsPeopleReadThem(t *testing.T) {
	t.Parallel()
	for n, want := range map[spend.Nanos][3]string{
		0: {"$0.00", "$0.00", "$0.00"}, 1: {"$0.000000001", "$0.000000001", "$0.000000001"}, 100: {"$0.0000001", "$0.0000001", "$0.0000001"},
		1_749: {"$0.0000017", "$0.000001749", "$0.0000017"}, 4_240_000: {"$0.0042", "$0.00424", "$0.0042"}, 5_000_000: {"$0.005", "$0.005", "$0.005"},
		9_949_999: {"$0.0099", "$0.009949999", "$0.0099"}, 9_999_999: {"$0.01", "$0.009999999", "$0.01"}, 10_000_000: {"$0.01", "$0.01", "$0.01"},
		14_999_999: {"$0.01", "$0.014999999", "$0.01"}, 37_500_000: {"$0.04", "$0.0375", "$0.03"}, 500_000_000: {"$0.50", "$0.50", "$0.50"},
		676_125_500: {"$0.68", "$0.6761255", "$0.67"}, 999_995_000_000: {"$1,000.00", "$999.995", "$999.99"},
		351_756_691_300: {"$351.76", "$351.7566913", "$351.75"}, 180_000_000_000: {"$180.00", "$180.00", "$180.00"},
		-12_345_000_000: {"−$12.35", "−$12.345", "−$12.35"}, -1: {"−$0.000000001", "−$0.000000001", "−$0.000000001"},
		1_234_567_890_000_000: {"$1,234,567.89", "$1,234,567.89", "$1,234,567.89"},
		math.MaxInt64:         {"$9,223,372,036.85", "$9,223,372,036.854775807", "$9,223,372,036.85"},
		math.MinInt64:         {"−$9,223,372,036.85", "−$9,223,372,036.854775808", "−$9,223,372,036.85"},
	} {
		if got := [3]string{n.String(), n.Exact(), n.Floor().String()}; got != want {
			t.Errorf("%d is %q; want %q", int64(n), got, want)
		}
	}
}

// The API gives money with all nine places, and what is stored so is read again.
func TestFixedPlaces(t *testing.T) {
	t.Parallel()
	for n, want := range map[spend.Nanos]string{0: "0.000000000", 1: "0.000000001", -1: "-0.000000001", 12_340_000_000: "12.340000000",
		math.MaxInt64: "9223372036.854775807", math.MinInt64: "-9223372036.854775808"} {
		if got := n.Fixed(); got != want {
			t.Errorf("%d is %s; want %s", n, got, want)
		}
		text, err := json.Marshal(n)
		var again spend.Nanos
		if err = errors.Join(err, json.Unmarshal(text, &again)); err != nil || again != n || string(text) != `"`+want+`"` {
			t.Errorf("%d is %s, and again %d: %v", n, text, again, err)
		}
	}
}

// An amount is refused in the name of its own field and by its own limit.
func TestAmountsOfBudgets(t *testing.T) {
	t.Parallel()
	if n, err := spend.ParseAmount("limit_usd", "1000000000", spend.MaxAmount); err != nil || n != spend.MaxAmount {
		t.Errorf("the most is %d, %v", n, err)
	}
	_, err := spend.ParseAmount("limit_usd", "1000000000.01", spend.MaxAmount)
	if told := fault.From(err).Fields["limit_usd"]; told != "It must be at most $1,000,000,000.00." {
		t.Errorf("too much is refused with %q", told)
	}
}

// A rate is dollars for a million tokens, in whole millionths; Save judges how high it is.
func TestRates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"0": 0, "1.25": 1_250_000, "0.000001": 1, "1e-6": 1, "1000": prices.MaxRate, "2.50": 2_500_000,
		"1000.000001": prices.MaxRate + 1, "": prices.Invalid, "much": prices.Invalid, "-1": prices.Invalid, "$1": prices.Invalid,
		"0.0000001": prices.Invalid, "1.0000005": prices.Invalid, "1e30": prices.Invalid} {
		if got := spend.ParseRate(text); got != want {
			t.Errorf("%q is %d; want %d", text, got, want)
		}
	}
	for rate, want := range map[int64]string{0: "0", 1: "0.000001", 1_250_000: "1.25", prices.MaxRate: "1000"} {
		if got := spend.RateAmount(rate).USD(); got != want {
			t.Errorf("%d is %s dollars; want %s", rate, got, want)
		}
	}
}
