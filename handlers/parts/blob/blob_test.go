package blob

import "testing"

func TestSizesAreSaid(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1 KB", 1025: "2 KB", 1 << 20: "1.0 MB", 64 << 20: "64.0 MB"} {
		if got := SizeText(bytes); got != want {
			t.Errorf("%d bytes are %q, want %q", bytes, got, want)
		}
	}
}
