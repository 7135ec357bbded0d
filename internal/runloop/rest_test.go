package runloop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/internal/runloop"
)

func TestABacklogRestsSixTimesAsLongAsItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		<-time.After(time.Second)
		runloop.Rest(t.Context(), began)
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("a second of work with its rest took %s", took)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		runloop.Rest(ended, began)
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("an end came %s after the work began", took)
		}
	})
}
