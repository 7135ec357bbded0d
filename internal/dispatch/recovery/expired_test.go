package recovery

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// One look serves the claims of all workspaces, each of which is notified once; the
// next look comes after a second, or when the rest of a long one is over.
func TestOneLookForLapsedLeasesServesAllWorkspaces(t *testing.T) {
	t.Parallel()
	ours, theirs, idle := ids.New(), ids.New(), ids.New()
	now, looks, takes, broken := time.Now(), 0, time.Duration(0), error(nil)
	var l *expiredLeases
	l = newExpiredLeases(func(ctx context.Context) ([]ids.ID, error) {
		looks, now = looks+1, now.Add(takes)
		// Who comes meanwhile does not look too, however long it takes.
		if lapsed, err := l.in(ctx, ids.New()); lapsed || err != nil {
			t.Errorf("during a look: %t, %v", lapsed, err)
		}
		return []ids.ID{ours, theirs}, broken
	})
	l.now = func() time.Time { return now }
	for i, step := range []struct {
		passes, takes time.Duration
		workspace     ids.ID
		want          bool
		looks         int
	}{
		{0, 0, idle, false, 1},
		{0, 0, theirs, true, 1}, {0, 0, theirs, false, 1}, {0, 0, ours, true, 1},
		{expiryInterval - 1, 0, ours, false, 1},
		{1, time.Second, ours, true, 2},
		{expiryRest*time.Second - 1, 0, ours, false, 2},
		{1, 0, ours, true, 3},
	} {
		now, takes = now.Add(step.passes), step.takes
		if got, err := l.in(t.Context(), step.workspace); got != step.want || err != nil || looks != step.looks {
			t.Errorf("step %d: %t, %v, after %d looks; want %t after %d", i, got, err, looks, step.want, step.looks)
		}
	}
	now, broken = now.Add(expiryInterval), errors.New("no database")
	if _, err := l.in(t.Context(), idle); !errors.Is(err, broken) {
		t.Errorf("the error of a look: %v", err)
	}
}
