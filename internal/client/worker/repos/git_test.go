package repos

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// late takes what is written after the writer of it is gone.
type late struct {
	bytes.Buffer
	after <-chan time.Time
}

func (l *late) Write(p []byte) (int, error) {
	if l.after != nil {
		<-l.after
		l.after = nil
	}
	return l.Buffer.Write(p)
}

// What git printed is taken whole, however slowly: git itself may have ended long before.
func TestWhatIsTakenSlowlyIsTakenWhole(t *testing.T) {
	t.Parallel()
	said := strings.Repeat("x", 40_000) + "\n"
	c := call{dir: t.TempDir(), lingers: time.Millisecond, stdin: strings.NewReader(said)}
	out := &late{after: time.After(200 * time.Millisecond)}
	if err := c.stream(t.Context(), out, "stripspace"); err != nil || out.String() != said {
		t.Errorf("%d bytes were taken of %d: %v", out.Len(), len(said), err)
	}
}
