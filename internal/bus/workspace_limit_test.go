package bus

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// A workspace has so many calls under way and no more; another one goes on beside it, and
// nothing is left of either when all have ended.
func TestAWorkspaceHasItsShare(t *testing.T) {
	s := newWorkspaceLimit(2)
	s.wait = time.Millisecond
	loud, quiet := ids.New(), ids.New()
	enter := func(workspace ids.ID) func() {
		t.Helper()
		leave, err := s.enter(t.Context(), workspace)
		if err != nil {
			t.Fatal(err)
		}
		return leave
	}
	first, second := enter(loud), enter(loud)
	if _, err := s.enter(t.Context(), loud); !fault.Is(err, fault.TooMany) {
		t.Errorf("a third call: %v; want it to be refused", err)
	}
	enter(quiet)()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.wait = time.Hour
	if _, err := s.enter(gone, loud); !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose caller has left: %v", err)
	}
	next := make(chan func())
	go func() {
		leave, err := s.enter(t.Context(), loud)
		if err != nil {
			t.Error(err)
			leave = func() {}
		}
		next <- leave
	}()
	first()
	(<-next)()
	second()
	if len(s.slots) != 0 {
		t.Errorf("%d workspaces are kept", len(s.slots))
	}
}
