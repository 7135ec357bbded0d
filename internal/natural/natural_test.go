package natural

import (
	"slices"
	"testing"
)

func TestCompare(t *testing.T) {
	want := []string{"", "01", "1", "2", "10", "basalt", "basalt-1", "basalt-2", "basalt-2b", "basalt-10", "basalt-10-2", "basalt-10-11",
		"basalt-99999999999999999999998", "basalt-99999999999999999999999", "mac", "é2", "é10"}
	got := slices.Clone(want)
	slices.Reverse(got)
	Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the order is %q", got)
	}
	for i, a := range want {
		for j, b := range want {
			if c := Compare(a, b); c < 0 != (i < j) || c == 0 != (i == j) {
				t.Errorf("%q and %q compare to %d", a, b, c)
			}
		}
	}
}
