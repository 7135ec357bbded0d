package lease

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Who calls while the work is done is followed by work that began later, done once for all
// of them; each caller does it once at most, and other workspaces wait for nobody.
func TestWorkIsDoneTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all together
		var began atomic.Int32
		one, other, first := ids.New(), ids.New(), make(chan struct{})
		var callers sync.WaitGroup
		callers.Go(func() { all.do(one, func() { began.Add(1); <-first }) })
		synctest.Wait()
		for range 50 {
			callers.Go(func() { all.do(one, func() { began.Add(1) }) })
		}
		synctest.Wait()
		all.do(other, func() { began.Add(100) })
		if n := began.Load(); n != 101 {
			t.Errorf("while the first works, %d have begun", n)
		}
		close(first)
		callers.Wait()
		if n := began.Load(); n != 102 || len(all.turns) != 0 {
			t.Errorf("%d have begun, and %d turns are left", n, len(all.turns))
		}
		all.do(one, func() { began.Add(1) })
		if n := began.Load(); n != 103 {
			t.Errorf("afterwards %d have begun", n)
		}
	})
}
