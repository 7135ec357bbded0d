package quota

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func asker(most int64) Asker { return Asker{ID: ids.New(), Most: most, What: "token"} }

func TestABudgetIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, time.Second)
		ada, bob := asker(60), asker(60)
		take := func(size int64, askers ...Asker) *Share {
			t.Helper()
			s, err := b.Take(t.Context(), size, askers...)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		first := take(50, ada)
		began := time.Now()
		if _, err := b.Take(t.Context(), 20, ada); !fault.Is(err, fault.TooMany) {
			t.Errorf("over its own part: %v", err)
		}
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("refused after %v", waited)
		}
		second := take(50, bob)
		if _, err := b.Take(t.Context(), 1, asker(60)); !fault.Is(err, fault.Unavailable) {
			t.Errorf("over all: %v", err)
		}
		first.Shrink(10)
		third := take(40, asker(60))
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Take(gone, 1, bob); !errors.Is(err, context.Canceled) {
			t.Errorf("without a caller: %v", err)
		}
		for _, s := range []*Share{first, second, third, nil} {
			s.End()
			s.End()
		}
		take(1000, ada).End() // as much as there is
		if b.used != 0 || len(b.of) != 0 || b.waiting.Len() != 0 {
			t.Errorf("%d bytes, %d askers and %d waiting are left", b.used, len(b.of), b.waiting.Len())
		}
	})
}

// Small shares do not keep a large one waiting for ever, and one caller keeps no
// other waiting.
func TestABudgetIsServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, time.Minute)
		greedy := asker(50)
		held, _ := b.Take(t.Context(), 50, greedy)
		var order []int64
		var mu sync.Mutex
		for _, one := range []struct {
			size  int64
			asker Asker
		}{{40, greedy}, {90, asker(100)}, {20, asker(100)}} {
			go func() {
				s, err := b.Take(t.Context(), one.size, one.asker)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, one.size)
				mu.Unlock()
				<-time.After(time.Second)
				s.End()
			}()
			synctest.Wait()
		}
		if len(order) != 0 {
			t.Errorf("%v passed the large one", order)
		}
		held.End()
		<-time.After(5 * time.Second)
		if len(order) != 3 || order[0] != 40 || order[1] != 90 {
			t.Errorf("served in the order %v", order)
		}
	})
}

func TestABudgetIsNeverExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1000, time.Minute)
		var held, most atomic.Int64
		var all sync.WaitGroup
		for i := range int64(200) {
			all.Go(func() {
				size := 100 + i
				s, err := b.Take(t.Context(), size, asker(500))
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), held.Add(size)))
				<-time.After(time.Second)
				held.Add(-size)
				s.End()
			})
		}
		all.Wait()
		if most.Load() > 1000 || most.Load() < 700 {
			t.Errorf("%d bytes were held", most.Load())
		}
	})
}
