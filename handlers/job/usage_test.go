package job

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/spend"
	view "github.com/fleetboard/fleetboard/views/job"
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
		{spend.Usage{Entries: 2, Charged: 1, Unpriced: 1}, view.Used{Tokens: "0 in, 0 out", Cost: "$0.000000001 + unpriced"}},
	} {
		if got := usedModel(c.used); got != c.want {
			t.Errorf("%+v is shown as %+v; want %+v", c.used, got, c.want)
		}
	}
}
