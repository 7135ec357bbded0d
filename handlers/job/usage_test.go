package job

import (
	"testing"

	"fleetboard/internal/spend"
	view "fleetboard/views/job"
)

// Amounts are shown to the cent; what is missing in a sum is said.
func TestUsageInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		used spend.Usage
		want view.Used
	}{
		{spend.Usage{}, view.Used{}},
		{spend.Usage{Entries: 1, Unpriced: 1}, view.Used{Tokens: "0 in, 0 out", Cost: "unpriced"}},
		{spend.Usage{Entries: 1, Input: 1, Output: 1000, CacheRead: 3, CacheWrite: 3_000_000, CacheWrite1h: 1_000_000},
			view.Used{Tokens: "1 in, 1,000 out", Cache: "3 read from the cache, 4,000,000 written to the cache", Cost: "$0.00"}},
		{spend.Usage{Entries: 2, Charged: 1, Unpriced: 1}, view.Used{Tokens: "0 in, 0 out", Cost: "under $0.01 + unpriced"}},
	} {
		if got := usedModel(c.used); got != c.want {
			t.Errorf("%+v is shown as %+v; want %+v", c.used, got, c.want)
		}
	}
	for n, want := range map[spend.Nanos]string{0: "$0.00", 1: "under $0.01", 9_999_999: "under $0.01", 10_000_000: "$0.01", 14_999_999: "$0.01",
		15_000_000: "$0.02", 994_999_999: "$0.99", 995_000_000: "$1.00", 1_234_567_890_000_000: "$1,234,567.89",
		9_223_372_036_854_775_807: "$9,223,372,036.85"} {
		if got := dollars(n); got != want {
			t.Errorf("%d nano-dollars are %s; want %s", n, got, want)
		}
	}
}
