package agents

import "testing"

func TestMemoryText(t *testing.T) {
	for mb, want := range map[int]string{512: "512 MB", 5120: "5.0 GB"} {
		if got := memoryText(mb); got != want {
			t.Errorf("%d MB is %q, want %q", mb, got, want)
		}
	}
}
