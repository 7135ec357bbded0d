package claim

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// A floor comes of a long way only, rises with the claims, and ends when it was to.
func TestAFloorComesOfALongWayAndEnds(t *testing.T) {
	t.Parallel()
	now, workspace := time.Now(), ids.New()
	f := newScanWatermarks()
	f.now = func() time.Time { return now }
	first, second := readyKey{priority: 5, job: ids.New()}, readyKey{priority: 4, job: ids.New()}
	for _, step := range []struct {
		what   string
		passes time.Duration
		to     readyKey
		blocks int64
		want   readyKey // zero for none
	}{
		{"a short way", 0, first, minDeadBlocks - 1, readyKey{}},
		{"a long way", 0, first, minDeadBlocks, first},
		{"on from there", watermarkTTL / 2, second, 1, second},
		{"it is over", watermarkTTL / 2, second, 1, readyKey{}},
		{"a long way again", 0, second, minDeadBlocks, second},
		{"it is over again", watermarkTTL, second, 1, readyKey{}},
		{"a very long way", 0, first, 10_000, first},
		{"it is believed longer", 10_000*ttlPerBlock - 1, second, 1, second},
		{"and is over", 1, second, 1, readyKey{}},
		{"an endless way", 0, first, 1_000_000, first},
		{"is believed no longer", watermarkMax, second, 1, readyKey{}},
	} {
		now = now.Add(step.passes)
		if step.passes > 0 {
			f.of(workspace, []int64{1})
		}
		f.advance(workspace, watermark{1, step.to, step.blocks})
		if got := f.of(workspace, []int64{1, 2})[1]; got != step.want {
			t.Errorf("%s: %v; want %v", step.what, got, step.want)
		}
	}
	if other := f.of(ids.New(), []int64{1}); len(other) != 0 {
		t.Errorf("another workspace: %v", other)
	}
}
