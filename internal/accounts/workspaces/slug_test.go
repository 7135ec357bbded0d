package workspaces

import (
	"strings"
	"testing"
)

func TestSlugOfAName(t *testing.T) {
	for name, want := range map[string]string{
		"Kestrel Labs": "kestrel-labs", "  --Ops & Tools!! ": "ops-tools", "Žluťoučký kůň": "lu-ou-k-k",
		"日本": "workspace", "---": "workspace", "2 fast": "2-fast", "A": "a",
		strings.Repeat("ab ", 60): strings.TrimSuffix(strings.Repeat("ab-", 17), "-")[:maxSlug],
	} {
		if got := makeSlug(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	for n, want := range map[int]string{1: "ops", 2: "ops-2", slugTries: "ops-20"} {
		if got := numberedSlug("ops", n); got != want {
			t.Errorf("try %d is %q, want %q", n, got, want)
		}
	}
	if a, b := numberedSlug("ops", slugTries+1), numberedSlug("ops", slugTries+1); a == b || len(a) > 63 {
		t.Errorf("after many tries: %s, %s", a, b)
	}
}
