package edge_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/handlers/edge"
)

// However many want to know, and whatever becomes of the answer: the probe reads it
// once at a time, and nobody waits for longer than Patience.
func TestAProbeAnswersInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		stuck := make(chan struct{})
		p := edge.NewProbe(time.Second, func(context.Context) (int, error) {
			<-stuck // a database that stands still minds no context
			return int(asked.Add(1)), nil
		})
		began := time.Now()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := p.Get(t.Context()); err == nil {
					t.Error("an answer from nowhere")
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != edge.Patience {
			t.Errorf("it took %v", took)
		}
		if _, err := p.Get(t.Context()); err == nil || time.Since(began) != edge.Patience {
			t.Errorf("the next one waited again, until %v: %v", time.Since(began), err)
		}
		close(stuck)
		synctest.Wait()
		for _, want := range []int{1, 1, 2, 2} {
			if got, err := p.Get(t.Context()); got != want || err != nil {
				t.Errorf("answer %d, %v; want %d", got, err, want)
			}
			<-time.After(600 * time.Millisecond) // by the clock of the bubble
		}
	})
}

func TestAProbePassesErrorsOn(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	p := edge.NewProbe(0, func(context.Context) (int, error) { return 0, gone })
	if _, err := p.Get(t.Context()); !errors.Is(err, gone) {
		t.Errorf("the error is %v", err)
	}
}
