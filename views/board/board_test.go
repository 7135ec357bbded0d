package board_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/ui"
	"github.com/fleetboard/fleetboard/views/viewstest"
)

// Each filter that is on can be taken away by itself; more than one of them
// stand in a row of their own.
func TestBoardShowsTheFiltersThatAreOn(t *testing.T) {
	list := []ui.ActiveFilter{{Text: "Repo ledger-api", RemoveURL: "/board?phase=M2"}, {Text: "Phase M2", RemoveURL: "/board?repo=ledger-api"}}
	for n, row := range []string{"", ".chips-on.chips-one", ".chips-on:not(.chips-one)"} {
		doc := viewstest.Parsed(t, ui.ActiveFilters(list[:n]))
		if got := doc.Find(".chips-on").Length(); got != min(n, 1) {
			t.Errorf("%d filters: %d rows", n, got)
		}
		if row != "" && doc.Find(row).Length() != 1 {
			t.Errorf("%d filters: no %s", n, row)
		}
		for _, f := range list[:n] {
			if doc.Find(`a[href="`+f.RemoveURL+`"][aria-label="Remove filter: `+f.Text+`"]`).Length() != 1 {
				t.Errorf("%d filters: no way out of %s", n, f.Text)
			}
		}
	}
}

// The browser keeps what "Show more" brought by these ids and classes; see
// static/js/unfold.js.
func TestColumnCanStayUnfolded(t *testing.T) {
	c := board.Column{Name: "ready", Title: "Ready", MoreURL: "/board/column/ready?after=x", Groups: []board.CardGroup{{Cards: []board.Card{viewstest.Card("FB-1", "One", "ready", 5)}}}}
	doc := viewstest.Parsed(t, board.ColumnSection(c))
	if doc.Find(`#list-ready[data-list] > [data-card]#card-fb-1`).Length() != 1 {
		t.Error("the card is not directly in its list")
	}
	if doc.Find(`#list-ready > .col-more:last-child > a[hx-get="/board/column/ready?after=x"][hx-target="#more-ready"]`).Length() != 1 {
		t.Error("the link to the rest is not the last of the list")
	}
}
