package board

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/screens"
)

// A stream that starts anew counts anew.
func TestAStreamThatStartsAnewCountsAnew(t *testing.T) {
	r := &liveBoard{}
	for _, n := range []int{3, 5} {
		r.setCounts([]screens.ColumnPage{{Column: screens.Ready, Count: n}})
		if got := r.total(); got != n {
			t.Errorf("%d jobs are counted; want %d", got, n)
		}
	}
}
