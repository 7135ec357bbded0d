package settings

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
)

func TestHowFarARotationIs(t *testing.T) {
	gone := time.Now()
	for want, keys := range map[string][]secrets.Key{
		"": {{Generation: 2, Writes: true, Values: 10}, {Generation: 1, RetiredAt: &gone, Moved: 10}},
		"3,200 of 10,000 values are encrypted with the new key.":              {{Writes: true, Fresh: true}, {Values: 6800, Moved: 3200}},
		"7 values are encrypted with the new key; more than 10,000 are left.": {{Writes: true}, {Values: 10_000, More: true, Moved: 7}},
		"12 of 14 values are encrypted with the new key.":                     {{Writes: true}, {Values: 1, Moved: 2}, {Values: 1, Moved: 10}},
	} {
		if m := (secretPageData{keys: keys, canOwn: true}).model(); m.Progress != want || m.Running != (want != "") || m.CanRenew != (want == "" || !keys[0].Fresh) {
			t.Errorf("%q, running %t, can renew %t; want %q", m.Progress, m.Running, m.CanRenew, want)
		}
	}
}
