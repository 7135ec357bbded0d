package board_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/internal/jobs/status"
	"github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/ui"
	"github.com/fleetboard/fleetboard/views/viewstest"
)

// A card of every status shows its glyph by name, its reason, and a menu with
// the moves allowed now as plain forms.
func TestCardOfEveryStatus(t *testing.T) {
	for _, is := range status.All {
		t.Run(string(is), func(t *testing.T) {
			c := viewstest.Because(viewstest.Card("FB-7", "Fix <b>it</b>", is, 8), "link", "", ui.T("Waits for "), viewstest.LinkToJob("FB-6"))
			doc := viewstest.Parsed(t, board.CardItem(c))
			item := doc.Find("#card-fb-7")
			if item.Length() != 1 {
				t.Fatal("no element card-fb-7")
			}
			glyph := item.Find("svg.glyph").First()
			if got := glyph.AttrOr("aria-label", ""); !strings.HasPrefix(got, is.Word()) {
				t.Errorf("the glyph is called %q", got)
			}
			if !glyph.HasClass("st-"+string(is)) || is != status.Running && glyph.Find("use").AttrOr("href", "") != "#s-"+string(is) {
				t.Errorf("the glyph is not that of %s", is)
			}
			if got := item.Find("a.job-link"); got.Text() != "Fix <b>it</b>" || got.AttrOr("href", "") != "/jobs/FB-7" {
				t.Errorf("title %q to %q", got.Text(), got.AttrOr("href", ""))
			}
			if c.Column != "done" && c.Column != "failed" && (item.Find(".job-r").Text() == "" || item.Find(`.job-r a[href="/jobs/FB-6"]`).Length() != 1) {
				t.Error("the reason is not shown with its link")
			}
			var menu []string
			item.Find("[popover] button[name=to]").Each(func(_ int, b *goquery.Selection) { menu = append(menu, b.AttrOr("value", "")) })
			if got := strings.Join(menu, " "); got != c.MoveNames() || item.AttrOr("data-moves", "") != got {
				t.Errorf("menu %q, drag %q, want %q", got, item.AttrOr("data-moves", ""), c.MoveNames())
			}
			if len(c.Moves) > 0 && item.Find("form[action='/jobs/FB-7/move'] input[name=version]").AttrOr("value", "") != "7" {
				t.Error("the move does not carry the version")
			}
		})
	}
}

func TestCardOfARunningJob(t *testing.T) {
	c := viewstest.Running("FB-142", "Fix it", 8, 62, "Reaper tests", 40e9)
	c.Cost, c.CostSince = "$0.84", "+0.06"
	doc := viewstest.Parsed(t, board.CardItem(c))
	if got := doc.Find(".ring-arc").AttrOr("stroke-dasharray", ""); got != "62 100" {
		t.Errorf("the ring shows %q", got)
	}
	text := strings.Join(strings.Fields(doc.Find(".job").Text()), " ")
	if want := "FB-142 fleetboard · M2 P8 Fix it 62% Reaper tests 40s ago claude-2 · mac-1 12m · $0.84 +0.06"; squeeze(text) != squeeze(want) {
		t.Errorf("the card says %q, want %q", text, want)
	}
	if got := doc.Find("time").First().AttrOr("datetime", ""); got != "2025-11-21T12:46:00Z" {
		t.Errorf("datetime %q", got)
	}
	c.Percent, c.Cost, c.CostSince = -1, "", ""
	doc = viewstest.Parsed(t, board.CardItem(c))
	if strings.Contains(doc.Text(), "%") || strings.Contains(doc.Text(), "$") || doc.Find(".ring-arc").AttrOr("stroke-dasharray", "") != "25 100" {
		t.Error("unknown progress and cost are shown as known")
	}
}

// A drag is offered exactly where the menu offers the same move, and the
// actions that need a confirmation are links to the dialog on the job's page.
func TestCardActions(t *testing.T) {
	c := viewstest.Card("FB-9", "x", status.Running, 1)
	doc := viewstest.Parsed(t, board.CardItem(c))
	if got := doc.Find(`a.pop-i.bad[href="/jobs/FB-9#dlg-cancel"]`).Length(); got != 1 {
		t.Errorf("%d links to the cancel dialog, want 1", got)
	}
	done := viewstest.Parsed(t, board.CardItem(viewstest.Card("FB-9", "x", status.Completed, 1)))
	if got := done.Find(`form[action="/jobs/FB-9/archive"] button`).Length(); got != 1 {
		t.Errorf("%d archive forms, want 1", got)
	}
}

func TestElementIDs(t *testing.T) {
	names := []string{"FB-1", "fb-1x", "FB 1", "FB.1", "FB_1", "ä", "a/b", "a#b", "#main", ""}
	var ids []string
	for _, n := range names {
		id := (board.Card{Key: n}).DOMID()
		if strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("%q gives the id %q", n, id)
		}
		if slices.Contains(ids, id) {
			t.Errorf("%q shares the id %q", n, id)
		}
		ids = append(ids, id)
	}
}

func TestColumn(t *testing.T) {
	b := viewstest.Board()
	doc := viewstest.Parsed(t, board.ColumnSection(b.Columns[4]))
	if got := doc.Find("#more-done a").AttrOr("hx-target", ""); got != "#more-done" {
		t.Errorf("more goes to %q", got)
	}
	if doc.Find("#list-done > li[data-card]").Length() != 7 || doc.Find("#n-done").Text() != "1,041" {
		t.Error("cards or count are wrong")
	}
	grouped := b.Columns[1]
	cards := grouped.Groups[0].Cards
	grouped.Groups = []board.CardGroup{{Name: "M2", Cards: cards[:1]}, {Name: "M3", Cards: cards[1:]}}
	doc = viewstest.Parsed(t, board.ColumnSection(grouped))
	if got := doc.Find(".group-h").Map(func(_ int, s *goquery.Selection) string { return s.Text() }); strings.Join(got, ",") != "M2,M3" {
		t.Errorf("groups %v", got)
	}
	empty := viewstest.EmptyBoard().Columns[0]
	if got := viewstest.Parsed(t, board.ColumnSection(empty)).Find("#empty-waiting").Text(); !strings.Contains(got, "Nothing waits") {
		t.Errorf("the empty column says %q", got)
	}
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }
