package budgeting

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/spend"
)

// What a job needs is never said to be what is free.
func TestARefusalTellsTheSliceFromWhatIsFree(t *testing.T) {
	limit := spend.Nanos(103_000_000)
	b := &budget{slice: 104_000_000}
	b.state.Money = &limit
	if free, needed, short := b.short(); !short || free != "$0.10" || needed != "$0.104" {
		t.Errorf("%s is free and %s needed, %t", free, needed, short)
	}
}
