package views

import (
	"strings"
	"testing"

	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// sampleTimeline has a line of each form.
func sampleTimeline() Timeline {
	who := links.TimelineWith(links.TimelineFilter{Actor: "claude-1"})
	return Timeline{
		Groups: []FilterOption{{Label: "All", URL: links.Timeline, Selected: true}, {Label: "Review", URL: links.TimelineWith(links.TimelineFilter{Group: "review"})}},
		Job:    "FB-1", Actor: "claude-1", NewURL: links.Timeline, ClearURL: links.Timeline, Older: true,
		Active: []ActiveFilter{{Text: "Job FB-1", RemoveURL: links.Timeline}},
		Items: TimelineItems{OlderURL: links.TimelineBefore("12-3", links.TimelineFilter{}), OlderID: "older-12-3", Days: []TimelineDay{
			{Heading: "Today", Events: []TimelineEvent{
				{ID: 4, At: ui.At(noon), Kind: "claimed", Key: "FB-1", KeyURL: links.Job("FB-1"), From: "ready", To: "assigned",
					Text: ui.Say(ui.T("on "), ui.Name("mac-1")), Who: Actor{"claude-1", "agent", "bot", "Agent", who}, Tag: "e1"},
				{ID: 3, At: ui.At(noon), Kind: "edited", Key: "FB-1", KeyURL: links.Job("FB-1"), More: "2 more",
					Changes: []FieldChange{{Field: "priority", Was: "5", Now: "8"}}, Who: Actor{"Mara Ilić", "person 1a2b3c", "user", "Person", who}},
			}},
			{Heading: "Yesterday", Events: []TimelineEvent{{ID: 2, At: ui.At(noon), Kind: "drained", Bad: true,
				Text: ui.Text("mac-1 takes no new jobs"), Who: Actor{"reaper", "system", "settings", "System", who}}}},
		}},
	}
}

func TestTheTimelineKeepsTheRules(t *testing.T) {
	shell := sampleShell(SectionTimeline, "Timeline")
	empty := Timeline{NewURL: links.Timeline, Empty: &ui.Empty{Title: "Nothing has happened yet", ActionLabel: "Go", ActionURL: links.Board}}
	for name, c := range map[string]Timeline{"full": sampleTimeline(), "empty": empty} {
		t.Run(name, func(t *testing.T) {
			doc := parsed(t, TimelineView(TimelinePage{shell, c}))
			strictPolicy(t, doc)
			oneOfEach(t, doc)
			references(t, doc)
			formsWithoutScript(t, doc)
		})
	}
}

func TestTheTimelineShowsHostileTextAsText(t *testing.T) {
	doc := parsed(t, TimelineView(TimelinePage{sampleShell(SectionTimeline, ""), poisoned(sampleTimeline())}))
	strictPolicy(t, doc)
	if n := doc.Find("[data-pwned], img, hx-partial[hx-target=body]").Length(); n != 0 {
		t.Errorf("%d elements of the hostile text became markup", n)
	}
	if strings.ContainsAny(doc.Find(".tl").Text(), "\u202e\x1b") {
		t.Error("a control character is shown")
	}
}

func TestTheTimelinesButtonIsAPartOfItsOwn(t *testing.T) {
	doc := parsed(t, LiveTimelineNew("12 new events", links.Timeline))
	if got := doc.Find("[hx-target='#timeline-new'] #timeline-new a[href='/timeline']").Text(); !strings.Contains(got, "12 new events") {
		t.Errorf("the part says %q", got)
	}
}
