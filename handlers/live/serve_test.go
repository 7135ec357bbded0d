package live

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// quiet is a feed with nothing to show.
type quiet struct{}

func (quiet) Begin(context.Context, *Writer) error                       { return nil }
func (quiet) C() <-chan message                                          { return nil }
func (quiet) Take(context.Context, message, bool) (more bool, err error) { return true, nil }
func (quiet) Beat(context.Context) error                                 { return nil }

// A stream checks whether its reader is still in at once when the process is notified that
// members changed, and in any case every five seconds; without that it ends by its age.
func TestAStreamAsksWhetherItsReaderIsStillIn(t *testing.T) {
	for name, c := range map[string]struct {
		told          bool
		in            bool
		least, atMost time.Duration
	}{
		"told":     {told: true},
		"not told": {least: 5 * time.Second, atMost: 5 * time.Second},
		"still in": {told: true, in: true, least: 16 * time.Minute, atMost: 24 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				members, start := make(chan struct{}, 1), time.Now()
				if c.told {
					members <- struct{}{}
				}
				if err := run(t.Context(), nil, members, quiet{}, func() bool { return c.in }); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took < c.least || took > c.atMost {
					t.Errorf("ended after %v; want %v to %v", took, c.least, c.atMost)
				}
			})
		})
	}
}
