package redact_test

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkLines takes two secrets out of a full call of ordinary lines.
func BenchmarkLines(b *testing.B) {
	secrets := []string{`"token-of-ada-0123456789"`, `"` + strings.Repeat("k", 1000) + `"`}
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = fmt.Sprintf("2026-11-21 INFO compiling the module, %d files", i)
	}
	for b.Loop() {
		redactor(secrets...).Lines(lines)
	}
}
