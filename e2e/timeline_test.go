package e2e

import (
	"testing"
)

const eventLines = "#timeline [data-event]"

// firstStart is how many events the first start writes: of its two tokens.
const firstStart = 2

// count returns how many elements a selector finds.
func (v *visitor) count(selector string) int {
	v.t.Helper()
	n, err := v.tab.Locator(selector).Count()
	v.must("count "+selector, err)
	return n
}

// shows waits until a selector finds so many elements, by loading the page
// again where reload is set: the log gives what no open transaction can change
// any more, so a page may come a moment too early.
func (v *visitor) shows(selector string, n int, reload bool) {
	v.t.Helper()
	eventually(v.t, selector+" on the page", func() bool {
		if v.count(selector) == n {
			return true
		}
		if reload {
			_, err := v.tab.Reload()
			v.must("load again", err)
		}
		return false
	})
}

// What happens while somebody reads is counted in a button, moves nothing on the
// page, and is there once the button is pressed.
func TestTheTimelineCountsWhatIsNewAndShowsItWhenAsked(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit(titles(40)...)
	v := s.visit(look{theme: "light", width: 1440, height: 700})
	v.logIn()
	v.open("/timeline?group=jobs")
	v.shows(eventLines, 40, true)
	v.live()
	first, err := v.tab.Locator(eventLines).First().GetAttribute("id")
	v.must("read the first line", err)
	v.must("scroll", v.tab.Locator(eventLines).Nth(30).ScrollIntoViewIfNeeded())
	before := v.box("#" + first)

	s.submit("While you read", "And one more")
	v.sees("#timeline-new a:has-text('2 new events')")
	if after := v.box("#" + first); after.Y != before.Y {
		t.Errorf("the page moved by %v", after.Y-before.Y)
	}
	if n := v.count(eventLines); n != 40 {
		t.Errorf("%d lines before the button was pressed; want 40", n)
	}
	s.agent("claude-1") // another kind of event is not counted
	s.submit("A third")
	v.sees("#timeline-new a:has-text('3 new events')")

	// Nor does the page move when the server has lost count of what it shows.
	v.must("mark the page", mark(v))
	_, err = v.tab.Evaluate(`() => document.getElementById("live").dispatchEvent(new Event("reset"))`)
	v.must("lose count", err)
	s.submit("After that")
	v.sees("#timeline-new a:has-text('4 new events')")
	if n := v.count(eventLines); n != 40 || !marked(v) {
		t.Errorf("%d lines after the server lost count; want the 40 of before", n)
	}

	v.click("#timeline-new a")
	v.shows(eventLines, 44, false)
	v.sees(eventLines + ":has-text('A third')")
	v.shows("#timeline-new a", 0, false)
	v.live()
	s.submit("A fourth")
	v.sees("#timeline-new a:has-text('1 new event')")
}

// "Load older" adds what came before, to the first event, under the same days.
func TestTheTimelineLoadsOlderEvents(t *testing.T) {
	t.Parallel()
	s := ownServer(t) // whose first events are those of a first start
	s.submit(titles(120)...)
	v := s.visit(desktop)
	v.logIn()
	v.open("/timeline?actor=nobody")
	v.sees("text=No event matches")
	v.open("/timeline")
	v.shows(eventLines, 50, true)
	v.click("#timeline .tl-more a")
	v.shows(eventLines, 100, false)
	v.click("#timeline .tl-more a")
	v.shows(eventLines, firstStart+120, false)
	v.shows(eventLines+":has-text('set-up')", firstStart, false)
	v.shows("#timeline .tl-more", 0, false)
	v.shows("#timeline [data-day]", 1, false)
	v.sees("#timeline [data-day]:has-text('Today')")
	v.sees(eventLines + ":has-text('FB-1 ')")
}

// The days are the reader's, whatever the server's zone.
func TestTheTimelineHasTheDaysOfItsReader(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("One", "Two")
	v := s.visit(desktop)
	v.logIn()
	v.open("/timeline?group=jobs")
	v.shows(eventLines, 2, true)
	// The first line becomes one of the day before.
	_, err := v.tab.Evaluate(`() => {
		const times = [...document.querySelectorAll("#timeline [data-event] time")];
		const at = new Date(Date.parse(times[1].dateTime));
		at.setDate(at.getDate() - 1);
		times[1].dateTime = at.toISOString();
		document.dispatchEvent(new Event("htmx:after:swap"));
	}`)
	v.must("move an event", err)
	v.shows("#timeline [data-day]", 2, false)
	v.sees("#timeline [data-day]:has-text('Yesterday')")
}

// The filter is in the address, with scripts or without.
func TestTheTimelineIsFilteredByItsAddress(t *testing.T) {
	t.Parallel()
	s := ownServer(t) // whose first events are those of a first start
	s.submit(titles(60)...)
	claim(t, s.agent("claude-1"))
	for _, noScript := range []bool{false, true} {
		v := s.visit(look{theme: "dark", width: 1440, height: 900, noScript: noScript})
		v.logIn()
		v.open("/timeline")
		v.shows(eventLines+":has-text('claimed')", 1, true)
		v.fill("#tl-job", "FB-1")
		v.must("press Enter", v.tab.Locator("#tl-job").Press("Enter"))
		v.must("reach the filter", v.tab.WaitForURL("**/timeline?*job=FB-1*"))
		v.shows(eventLines, 2, false)
		v.click(".tl-groups a:has-text('Recovery')")
		v.sees("text=No event matches")
		v.click(".chip-on a")
		v.must("drop the filter", v.tab.WaitForURL("**/timeline?group=recovery"))
		v.click(".tl-groups a:has-text('All')")
		v.click(eventLines + ":has-text('claimed') .ev-a a")
		v.must("reach the agent's events", v.tab.WaitForURL("**/timeline?actor=*"))
		v.shows(eventLines, 1, false)
	}

	// Without scripts the older part is a page of its own.
	v := s.visit(look{theme: "light", width: 390, height: 844, noScript: true})
	v.logIn()
	v.open("/timeline")
	v.click("#timeline .tl-more a")
	v.must("reach the older part", v.tab.WaitForURL("**/timeline?before=*"))
	v.shows(eventLines, firstStart+12, false)
	v.click("text=Go to the newest")
	v.must("reach the newest", v.tab.WaitForURL("**/timeline"))
	if wide, err := v.tab.Locator("body").Evaluate("b => b.scrollWidth > b.clientWidth", nil); err == nil && wide == true {
		t.Error("the page is wider than a phone")
	}
}
