package handlers

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"fleetboard/internal/kanban"
	"fleetboard/views"
	"fleetboard/views/ui"
)

func cardsOf(list ...views.Card) views.Column {
	return views.Column{Name: "ready", Groups: []views.CardGroup{{Cards: list}}}
}

// Whoever was sent a column before gets its unchanged cards as empty places;
// whoever was not gets all of it, and from then on as little.
func TestAColumnGoesOutWholeOnceAndThenInBrief(t *testing.T) {
	sent, all := sentCards{}, seats{list: map[*seat]bool{}}
	at := time.Now()
	one := views.Card{Key: "FB-1", Title: "Alpha", Column: "ready", Version: 1, Foot: ui.For(at, at)}
	two := views.Card{Key: "FB-2", Title: "Beta", Column: "ready", Version: 1}
	old, late := &seat{}, &seat{}
	all.add(old)
	tell := func(list ...views.Card) {
		if err := all.tell(t.Context(), news{parts: []templ.Component{sent.column(cardsOf(list...))}}, ""); err != nil {
			t.Fatal(err)
		}
	}
	has := func(who string, s *seat, want ...string) {
		t.Helper()
		text := string((<-s.bulletins).message)
		for _, w := range want {
			if not, no := strings.CutPrefix(w, "not "); strings.Contains(text, strings.TrimPrefix(w, "not ")) == no {
				t.Errorf("%s: %q (%v) in %s", who, not, no, text)
			}
		}
	}
	tell(one, two)
	has("first", old, "Alpha", "Beta", "not data-same")
	all.add(late)
	one.Foot = ui.For(at, at.Add(time.Minute)) // the browser counts on by itself
	two.Version = 2
	tell(one, two)
	has("an old reader", old, `<li id="card-fb-1" data-same></li>`, "Beta", "not Alpha")
	has("a new reader", late, "Alpha", "Beta", "not data-same")
	one.Title = "Gamma"
	tell(one, two)
	has("an old reader", old, "Gamma", `<li id="card-fb-2" data-same></li>`)
	has("no longer new", late, "Gamma", `<li id="card-fb-2" data-same></li>`)
	// A card that left the column is sent whole when it comes back.
	tell(two)
	has("without it", old, "not card-fb-1")
	tell(one, two)
	has("back", old, "Gamma")
}

// What came while a message was made goes out together with the next one.
func TestUpdatesThatWaitAreShownTogether(t *testing.T) {
	updates := make(chan *kanban.Update, 2)
	w := &showing{updates: updates}
	updates <- &kanban.Update{Cursor: "2-0", Touched: []kanban.ColumnPage{{Column: kanban.Ready, Count: 2}}}
	updates <- &kanban.Update{Cursor: "3-0", Rules: true}
	first := &kanban.Update{Cursor: "1-0", Touched: []kanban.ColumnPage{{Column: kanban.Ready, Count: 1}}}
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
