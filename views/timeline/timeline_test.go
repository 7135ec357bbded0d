package timeline_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/views/events"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/timeline"
	"github.com/fleetboard/fleetboard/views/ui"
	"github.com/fleetboard/fleetboard/views/viewstest"
)

// sampleTimeline has a line of each form.
func sampleTimeline() timeline.Timeline {
	who := links.TimelineWith(links.TimelineFilter{Actors: []string{"claude-1"}})
	return timeline.Timeline{
		Groups: []ui.FilterOption{{Label: "All", URL: links.Timeline, Selected: true}, {Label: "Review", URL: links.TimelineWith(links.TimelineFilter{Groups: []string{"review"}})}},
		Keep:   []ui.HiddenField{{Name: "job", Value: "FB-1"}}, NewURL: links.Timeline, ClearURL: links.Timeline, Older: true,
		Active: []ui.ActiveFilter{{Text: "Job FB-1", RemoveURL: links.Timeline}},
		Items: events.Items{OlderURL: links.TimelineBefore("12-3", links.TimelineFilter{}), OlderID: "older-12-3", Days: []events.Day{
			{Heading: "Today", Events: []events.Event{
				{ID: 4, At: ui.At(viewstest.Noon), Kind: "claimed", Key: "FB-1", KeyURL: links.Job("FB-1"), From: "ready", To: "assigned",
					Text: ui.Say(ui.T("on "), ui.Name("mac-1")), Who: events.Actor{Name: "claude-1", Mark: "agent", Icon: "bot", Title: "Agent", URL: who}, Tag: "e1"},
				{ID: 3, At: ui.At(viewstest.Noon), Kind: "edited", Key: "FB-1", KeyURL: links.Job("FB-1"), More: "2 more",
					Changes: []events.FieldChange{{Field: "priority", Was: ui.Text("5"), Now: ui.Text("8")}}, Who: events.Actor{Name: "Mara Ilić", Mark: "person 1a2b3c", Icon: "user", Title: "Person", URL: who}},
			}},
			{Heading: "Yesterday", Events: []events.Event{{ID: 2, At: ui.At(viewstest.Noon), Kind: "drained", Bad: true,
				Text: ui.Text("mac-1 takes no new jobs"), Who: events.Actor{Name: "reaper", Mark: "system", Icon: "settings", Title: "System", URL: who}}}},
		}},
	}
}

func TestTheTimelineKeepsTheRules(t *testing.T) {
	shell := viewstest.Shell(layout.SectionTimeline, "Timeline")
	empty := timeline.Timeline{NewURL: links.Timeline, Empty: &ui.Empty{Title: "Nothing has happened yet", ActionLabel: "Go", ActionURL: links.Board}}
	for name, c := range map[string]timeline.Timeline{"full": sampleTimeline(), "empty": empty} {
		t.Run(name, func(t *testing.T) {
			doc := viewstest.Parsed(t, timeline.View(shell, c))
			viewstest.StrictPolicy(t, doc)
			viewstest.OneOfEach(t, doc)
			viewstest.References(t, doc)
			viewstest.FormsWithoutScript(t, doc)
		})
	}
}

func TestTheTimelineShowsHostileTextAsText(t *testing.T) {
	doc := viewstest.Parsed(t, timeline.View(viewstest.Shell(layout.SectionTimeline, ""), viewstest.Poisoned(sampleTimeline())))
	viewstest.StrictPolicy(t, doc)
	if n := doc.Find("[data-pwned], img, hx-partial[hx-target=body]").Length(); n != 0 {
		t.Errorf("%d elements of the hostile text became markup", n)
	}
	if strings.ContainsAny(doc.Find(".tl").Text(), "\u202e\x1b") {
		t.Error("a control character is shown")
	}
}

func TestTheTimelinesButtonIsAPartOfItsOwn(t *testing.T) {
	doc := viewstest.Parsed(t, timeline.LiveNewEvents("12 new events", links.Timeline))
	if got := doc.Find("[hx-target='#timeline-new'] #timeline-new a[href='/timeline']").Text(); !strings.Contains(got, "12 new events") {
		t.Errorf("the part says %q", got)
	}
}
