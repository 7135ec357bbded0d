package live

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/screens"
)

// What came while a message was made goes out together with the next one.
func TestUpdatesThatWaitAreShownTogether(t *testing.T) {
	updates := make(chan *screens.Update, 2)
	w := &stream{updates: updates}
	updates <- &screens.Update{Cursor: "2-0", Touched: []screens.ColumnPage{{Column: screens.Ready, Count: 2}}}
	updates <- &screens.Update{Cursor: "3-0", Rules: true}
	first := &screens.Update{Cursor: "1-0", Touched: []screens.ColumnPage{{Column: screens.Ready, Count: 1}}}
	u := w.gathered(first)
	if u.Cursor != "3-0" || !u.Rules || len(u.Touched) != 1 || u.Touched[0].Count != 2 || first.Touched[0].Count != 1 {
		t.Errorf("gathered %+v out of %+v", u, first)
	}
	if w.gathered(first) != first {
		t.Error("a single update is not handed on as it is")
	}
	close(updates)
	if !w.gathered(first).Reset {
		t.Error("the end of the updates is taken for one of them")
	}
}
