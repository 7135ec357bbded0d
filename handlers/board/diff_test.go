package board

import (
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/handlers/live"
	view "github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/ui"
)

func cardsOf(list ...view.Card) view.Column {
	return view.Column{Name: "ready", Groups: []view.CardGroup{{Cards: list}}}
}

// Whoever was sent a column before gets its unchanged cards as empty places;
// whoever was not gets all of it.
func TestAColumnIsShownWholeOrAsADiff(t *testing.T) {
	sent, at := sentCards{}, time.Now()
	one := view.Card{Key: "FB-1", Title: "Alpha", Column: "ready", Version: 1, Foot: ui.For(at, at)}
	two := view.Card{Key: "FB-2", Title: "Beta", Column: "ready", Version: 1}
	var d columnDiff
	has := func(who string, diff bool, want ...string) {
		t.Helper()
		ctx := t.Context()
		if diff {
			ctx = live.WithDiffOnly(ctx)
		}
		var html strings.Builder
		if err := d.Render(ctx, &html); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if text, no := strings.CutPrefix(w, "not "); strings.Contains(html.String(), text) == no {
				t.Errorf("%s: %q (%v) in %s", who, text, no, html.String())
			}
		}
	}
	d = sent.column(cardsOf(one, two))
	has("first", false, "Alpha", "Beta", "not data-same")
	one.Foot = ui.For(at, at.Add(time.Minute)) // the browser counts on by itself
	two.Version = 2
	d = sent.column(cardsOf(one, two))
	has("an old reader", true, `<li id="card-fb-1" data-same></li>`, "Beta", "not Alpha")
	has("a new reader", false, "Alpha", "Beta", "not data-same")
	one.Title = "Gamma"
	d = sent.column(cardsOf(one, two))
	has("an old reader", true, "Gamma", `<li id="card-fb-2" data-same></li>`)
	// A card that left the column is sent whole when it comes back.
	d = sent.column(cardsOf(two))
	has("without it", true, "not card-fb-1")
	d = sent.column(cardsOf(one, two))
	has("back", true, "Gamma")
}
