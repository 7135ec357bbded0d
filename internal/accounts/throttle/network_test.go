package throttle

import (
	"testing"
)

func TestNetwork(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.7":         "192.0.2.7",
		"::ffff:192.0.2.7":  "192.0.2.7",
		"2001:db8:1:2:3::4": "2001:db8:1:2::/64",
		"fe80::1%eth0":      "fe80::/64",
		"":                  "unknown",
		"not an address":    "unknown",
	} {
		if got := network(in); got != want {
			t.Errorf("network(%q) = %q, want %q", in, got, want)
		}
	}
}
