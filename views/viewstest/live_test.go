package viewstest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/views/agents"
	"github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

var partTarget = regexp.MustCompile(`<hx-partial hx-target="#([^"]+)" hx-swap="([^"]+)">`)

// Every part of a message has its target on the page, and morphs it into
// exactly what the page shows.
func TestLivePartsAreThePage(t *testing.T) {
	pages := samplePages(layout.ThemeLight)
	shown, shell := Board(), Shell(layout.SectionBoard, "Board (9 running)")
	for name, c := range map[string]struct {
		page templ.Component
		part templ.Component
	}{
		"card":   {pages["board"], board.LiveCard(shown.Columns[2].Groups[0].Cards[0])},
		"row":    {pages["board"], board.LiveCard(shown.Columns[4].Groups[0].Cards[0])},
		"column": {pages["board"], board.LiveColumn(shown.Columns[1])},
		"fleet":  {pages["board"], layout.LiveFleet(shell.Fleet)},
		"note":   {pages["board"], board.LiveNote(shown.Note)},
		"total":  {pages["board"], board.LiveTotals(shell, shown.Total)},
		"first":  {pages["first-run"], board.LiveFirstRun(firstRun)},
		"job":    {pages["job"], job.Live(sampleJob())},
		"why":    {pages["job-waiting"], job.Live(waitingJob())},
		"agents": {pages["agents"], agents.Live(sampleAgents())},
	} {
		t.Run(name, func(t *testing.T) {
			doc, message := Parsed(t, c.page), HTML(t, c.part)
			found := partTarget.FindAllStringSubmatch(message, -1)
			if len(found) == 0 {
				t.Fatalf("no parts in %q", message)
			}
			sent := fragment(t, message)
			for _, m := range found {
				on, off := doc.Find(`[id="`+m[1]+`"]`), sent.Find(`[id="`+m[1]+`"]`)
				if on.Length() != 1 || off.Length() != 1 || m[2] != "outerMorph" {
					t.Errorf("#%s: %d on the page, %d in the message, %s", m[1], on.Length(), off.Length(), m[2])
					continue
				}
				want, _ := goquery.OuterHtml(whatMorphs(on))
				got, _ := goquery.OuterHtml(whatMorphs(off))
				if got != want {
					t.Errorf("#%s differs:\npage    %s\nmessage %s", m[1], want, got)
				}
			}
		})
	}
}

// whatMorphs returns an element without what a morph leaves alone.
func whatMorphs(of *goquery.Selection) *goquery.Selection {
	of = of.Clone()
	of.Find("[hx-morph-skip]").ReplaceWithHtml("<hr>")
	return of
}

// fragment parses a message without its hx-partial wrappers.
func fragment(t *testing.T, message string) *goquery.Document {
	t.Helper()
	bare := regexp.MustCompile(`</?hx-partial[^>]*>`).ReplaceAllString(message, "")
	doc, err := goquery.NewDocumentFromReader(strings.NewReader("<body>" + bare))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestLiveTitleAndToast(t *testing.T) {
	if got := HTML(t, board.LiveTotals(Shell(layout.SectionBoard, "Board (8 running)"), "76 jobs")); !strings.Contains(got, "<title>Board (8 running) · Kestrel Labs · Fleetboard</title>") {
		t.Errorf("the title is missing in %q", got)
	}
	got := HTML(t, layout.LiveToast(ui.Toast{Tone: ui.Bad, Title: "Not <moved>", Text: "It changed.", RequestID: "req_1"}))
	for _, want := range []string{`hx-target="#toasts"`, `hx-swap="beforeend"`, `role="alert"`, "Not &lt;moved&gt;", "req_1"} {
		if !strings.Contains(got, want) {
			t.Errorf("the toast lacks %q: %s", want, got)
		}
	}
	if got := HTML(t, board.LiveCardGone("FB-1")); !strings.Contains(got, `hx-target="#card-fb-1" hx-swap="delete"`) {
		t.Errorf("a card that went: %q", got)
	}
}

// A message is text of one event: a morph needs ids on what is live.
func TestLiveElementsHaveIDs(t *testing.T) {
	doc := Parsed(t, samplePages(layout.ThemeLight)["board"])
	doc.Find("#board li, #board section, #board button, #board [popover], #fleet a").Each(func(_ int, el *goquery.Selection) {
		if el.AttrOr("id", "") == "" && !el.HasClass("pop-i") {
			out, _ := goquery.OuterHtml(el)
			t.Errorf("no id: %.120s", out)
		}
	})
}

func TestStreamIsOpenedOnce(t *testing.T) {
	doc := Parsed(t, samplePages(layout.ThemeLight)["board"])
	live := doc.Find(`[hx-sse\:connect]`)
	if live.Length() != 1 || live.AttrOr("hx-sse:connect", "") != "/live?after=17&on=board" || live.AttrOr("hx-trigger", "") != "load, every 15s" {
		t.Errorf("the stream is %q, %q", live.AttrOr("hx-sse:connect", ""), live.AttrOr("hx-trigger", ""))
	}
	if live.Closest("#main").Length() != 0 {
		t.Error("the stream stands in the region that a reset replaces")
	}
}
