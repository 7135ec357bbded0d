package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/envtest"

	"github.com/playwright-community/playwright-go"
)

// changesEvery is the pace of the changes of the tests below. A machine that is too slow
// for it makes as many of them in a longer time.
const changesEvery = 50 * time.Millisecond

// changesInAll returns how many changes a board has to stand: thirty seconds of them, and
// another number where FLEETBOARD_CHANGES says so; a multiple of three, of which the last
// is an edit.
func changesInAll(t *testing.T) int {
	t.Helper()
	n := envtest.Number(t, "FLEETBOARD_CHANGES", 600)
	if n < 3 {
		t.Fatalf("FLEETBOARD_CHANGES is %d; want at least 3", n)
	}
	return n / 3 * 3
}

// watchCards notes every card that is ever empty or there twice, every menu that
// closes and every element that loses the focus.
const watchCards = `() => {
	window.seen = { empty: [], twice: [], closed: [], blurred: [], looks: 0 };
	const look = () => {
		const ids = new Set();
		for (const li of document.querySelectorAll("#board li[id^=card-]")) {
			if (li.childElementCount === 0) seen.empty.push(li.id);
			if (ids.has(li.id)) seen.twice.push(li.id);
			ids.add(li.id);
		}
		seen.looks += 1;
	};
	new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
	document.addEventListener("toggle", (e) => { if (e.newState === "closed") seen.closed.push(e.target.id); }, true);
	document.addEventListener("focusout", (e) => seen.blurred.push(e.target.id || e.target.className), true);
	look();
}`

// fillBoard fills the board with 72 cards: 20 run, 12 wait, 40 are ready. change
// makes one of the changes of the tests, by turns a report, a move and an edit.
// The card of FB-1, which runs, changes and stays where it is.
func fillBoard(t *testing.T, s *server) (change func(n int)) {
	t.Helper()
	s.submit(titles(72)...)
	agent, owner := s.agent("claude-1"), s.owner()
	claimed, err := agent.ClaimJobsWithResponse(t.Context(), api.ClaimRequest{Max: number(20)})
	if err != nil || claimed.JSON200 == nil || len(claimed.JSON200.Jobs) != 20 {
		t.Fatalf("claim 20: %v %s", err, body(claimed))
	}
	pause := func(n int) {
		answer, err := owner.PauseJobWithResponse(t.Context(), fmt.Sprintf("FB-%d", n), api.PlainAction{})
		if err != nil || answer.StatusCode() != http.StatusOK {
			t.Errorf("pause FB-%d: %v %s", n, err, answer.Body)
		}
	}
	for n := 61; n <= 72; n++ {
		pause(n)
	}
	moved, versions := 0, map[string]int{}
	return func(n int) {
		switch n % 3 {
		case 0:
			progress(t, agent, fmt.Sprintf("FB-%d", 1+n/3%20), n%100, fmt.Sprintf("step %d", n))
		case 1:
			if job := 50 + moved/2%10; moved%2 == 0 {
				pause(job)
			} else {
				answer, err := owner.ResumeJobWithResponse(t.Context(), fmt.Sprintf("FB-%d", job), api.PlainAction{})
				if err != nil || answer.StatusCode() != http.StatusOK {
					t.Errorf("resume FB-%d: %v %s", job, err, answer.Body)
				}
			}
			moved++
		default:
			key := fmt.Sprintf("FB-%d", 30+n/3%19)
			if versions[key] == 0 {
				versions[key] = s.job(key).Version
			}
			answer, err := owner.PatchJobWithResponse(t.Context(), key, api.JobPatch{Version: versions[key], Title: number(fmt.Sprintf("Edited %d", n))})
			if err != nil || answer.JSON200 == nil {
				t.Fatalf("edit %s: %v %s", key, err, answer.Body)
			}
			versions[key] = answer.JSON200.Version
		}
	}
}

// fetches counts how often a page fetches the board after now.
func (v *visitor) fetches() *atomic.Int32 {
	var n atomic.Int32
	v.tab.OnRequest(func(r playwright.Request) {
		if strings.HasPrefix(strings.TrimPrefix(r.URL(), v.s.url), "/board") && r.Method() == http.MethodGet {
			n.Add(1)
		}
	})
	return &n
}

// stoodStill fails the test where the page did not stay as its reader had it.
func (v *visitor) stoodStill(who string, fetches *atomic.Int32) {
	v.t.Helper()
	got, err := v.tab.Evaluate("() => JSON.stringify({ empty: seen.empty.length, twice: seen.twice.length, closed: seen.closed, blurred: seen.blurred })")
	v.must("read what was seen", err)
	if want := `{"empty":0,"twice":0,"closed":[],"blurred":[]}`; got != want {
		v.t.Errorf("%s saw %v; want %s", who, got, want)
	}
	if n := fetches.Load(); n != 0 {
		v.t.Errorf("the board of %s fetched itself %d times", who, n)
	}
	if v.text("seen.looks < 2") != "false" {
		v.t.Errorf("%s was not shown any change", who)
	}
}

func (v *visitor) text(expression string) string {
	v.t.Helper()
	got, err := v.tab.Evaluate("() => String(" + expression + ")")
	v.must(expression, err)
	return fmt.Sprint(got)
}

// While twenty things a second change, no card is ever empty, the board does not
// fetch itself, and the focus, an open menu, a drag under way, the scroll position and
// typed text stay as they are.
func TestALiveBoardStandsStill(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	change := fillBoard(t, s)

	chooser := s.visit(look{theme: "light", width: 1100, height: 700})
	chooser.logIn()
	chooser.live()
	chooser.must("scroll", chooser.evaluate(`() => {
		document.getElementById("list-ready").scrollTop = 400;
		document.getElementById("board").scrollLeft = 60;
	}`))
	chooser.must("focus", chooser.tab.Locator(card("FB-1", "running")+" .job-link").Focus())
	chooser.must("press m", chooser.tab.Keyboard().Press("m"))
	chooser.sees("#menu-fb-1:popover-open")
	place := `document.getElementById("list-ready").scrollTop + " " + document.getElementById("board").scrollLeft`
	focused := `document.activeElement.textContent.trim() + document.activeElement.closest("[popover]")?.id`
	placeBefore, focusBefore := chooser.text(place), chooser.text(focused)

	writer := s.visit(desktop)
	writer.logIn()
	writer.live()
	writer.must("focus", writer.tab.Locator("#board-q").Focus())
	writer.must("type", writer.tab.Keyboard().Type("half a thought"))
	writer.must("put the caret back", writer.tab.Keyboard().Press("Home"))

	mover := s.visit(desktop)
	mover.logIn()
	mover.live()

	for _, v := range []*visitor{chooser, writer} {
		v.must("watch", v.evaluate(watchCards))
	}
	chose, wrote, moved := chooser.fetches(), writer.fetches(), mover.fetches()
	mover.lift(card("FB-25", "ready"), "#col-waiting")
	pace := time.NewTicker(changesEvery)
	defer pace.Stop()
	changes := changesInAll(t)
	for n := range changes {
		<-pace.C
		change(n)
	}
	for _, v := range []*visitor{chooser, writer} {
		v.sees(fmt.Sprintf("text='Edited %d'", changes-1))
	}
	if got := mover.text(`document.querySelector(".drag-slot")?.closest("[data-card]").id + " in " + document.querySelector(".drag-yes#col-waiting")?.id`); got != "card-fb-25 in col-waiting" {
		t.Errorf("under way is %s", got)
	}
	mover.must("let go", mover.tab.Mouse().Up())
	mover.must("watch", mover.evaluate(watchCards))
	mover.settled("FB-25", "waiting")
	chooser.stoodStill("who chooses", chose)
	writer.stoodStill("who writes", wrote)
	mover.stoodStill("who moves a card", moved)
	if now := chooser.text(place); now != placeBefore {
		t.Errorf("scrolled to %s; want %s", now, placeBefore)
	}
	if now := chooser.text(focused); now != focusBefore {
		t.Errorf("the focus is on %q; want %q", now, focusBefore)
	}
	if got := writer.text(`document.activeElement.id + " " + document.activeElement.value + " " + document.activeElement.selectionStart`); got != "board-q half a thought 0" {
		t.Errorf("the field is %q", got)
	}
	for column, want := range map[string]string{"running": "20", "ready": "39", "waiting": "13"} {
		if got := writer.text(fmt.Sprintf(`document.querySelectorAll("#list-%s > [data-card]").length`, column)); got != want {
			t.Errorf("%s cards in %s; want %s", got, column, want)
		}
	}
}

// evaluate runs a script in the page.
func (v *visitor) evaluate(script string) error {
	_, err := v.tab.Evaluate(script)
	return err
}

// A person who moves cards by keys while others change them keeps the focus, and
// the board neither fetches itself nor shows a card twice.
func TestOnesOwnMovesLeaveTheBoardAsItIs(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	change := fillBoard(t, s)
	v := s.visit(desktop)
	// Where the news of a move takes ten seconds, as beside a long transaction of another test, the
	// page helps itself by a fetch. Here it waits for as long as it takes.
	patient := `const later = window.setTimeout; window.setTimeout = (act, ms, ...rest) => ms === 10000 ? 0 : later(act, ms, ...rest)`
	v.must("have it wait", v.tab.AddInitScript(playwright.Script{Content: &patient}))
	v.logIn()
	v.live()
	v.must("watch", v.evaluate(watchCards))
	fetches := v.fetches()
	changes := 0
	for round, to := range []string{"waiting", "ready", "waiting", "ready", "waiting", "ready"} {
		for n := 22; n < 27; n++ {
			key := fmt.Sprintf("FB-%d", n)
			from := map[string]string{"waiting": "ready", "ready": "waiting"}[to]
			link := v.tab.Locator(card(key, from) + " .job-link")
			v.must("focus", link.Focus())
			v.must("press m", v.tab.Keyboard().Press("m"))
			v.sees("#menu-" + strings.ToLower(key) + ":popover-open [name=to][value=" + to + "]")
			v.must("choose", v.tab.Locator("#menu-"+strings.ToLower(key)+" [name=to][value="+to+"]").Focus())
			for range 3 {
				change(changes)
				changes++
			}
			v.must("press Enter", v.tab.Keyboard().Press("Enter"))
			for range 3 {
				change(changes)
				changes++
			}
			v.settled(key, to)
			if got := v.text(`document.activeElement.closest("[data-card]")?.id`); got != "card-"+strings.ToLower(key) {
				t.Fatalf("round %d: the focus is on %s after the move of %s", round, got, key)
			}
		}
	}
	got, err := v.tab.Evaluate("() => JSON.stringify([seen.empty, seen.twice])")
	v.must("read what was seen", err)
	if got != "[[],[]]" || fetches.Load() != 0 {
		t.Errorf("empty and doubled cards: %v; %d fetches", got, fetches.Load())
	}
}
