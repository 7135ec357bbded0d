package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// box is where an element is, once it is anywhere: a live change may be putting
// another in its place.
func (v *visitor) box(selector string) *playwright.Rect {
	v.t.Helper()
	var box *playwright.Rect
	eventually(v.t, selector+" on the page", func() bool {
		var err error
		box, err = v.tab.Locator(selector).First().BoundingBox()
		return err == nil && box != nil
	})
	return box
}

// drag moves a card to a column and lets go of it.
func (v *visitor) drag(from, to string) {
	v.t.Helper()
	v.lift(from, to)
	v.must("drag", v.tab.Mouse().Up())
}

// lift moves the mouse with a card from where it is to a column, as a hand does.
func (v *visitor) lift(from, to string) {
	v.t.Helper()
	a, b := v.box(from), v.box(to)
	mouse := v.tab.Mouse()
	steps := playwright.MouseMoveOptions{Steps: playwright.Int(12)}
	v.must("press", mouse.Move(a.X+a.Width/2, a.Y+12))
	v.must("press", mouse.Down())
	v.must("drag", mouse.Move(b.X+b.Width/2, b.Y+60, steps))
	v.must("drag", mouse.Move(b.X+b.Width/2, b.Y+70, steps))
}

// settled waits until a card shows the job as the server has it.
func (v *visitor) settled(key, column string) {
	v.t.Helper()
	eventually(v.t, key+" settled in "+column, func() bool {
		n, err := v.tab.Locator(fmt.Sprintf("%s[data-version='%d']:not(:has(.job-pending))", card(key, column), v.s.job(key).Version)).Count()
		return err == nil && n == 1
	})
}

// A card moves by drag, by its menu and by the keyboard, and stays where it was
// where the status table does not allow the move.
func TestACardMovesByHandByMenuAndByKey(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Dragged", "By menu", "By key")
	v := s.visit(desktop)
	v.logIn()
	v.live()

	v.drag(card("FB-1", "ready"), "#col-waiting")
	eventually(t, "FB-1 paused", func() bool { return s.job("FB-1").Status == "paused" })
	v.settled("FB-1", "waiting")
	v.drag(card("FB-1", "waiting"), "#col-ready")
	eventually(t, "FB-1 ready", func() bool { return s.job("FB-1").Status == "ready" })
	v.settled("FB-1", "ready")

	v.drag(card("FB-1", "ready"), "#col-review")
	v.sees("#toasts:has-text('A job comes to Review when an agent hands it in.')")
	v.sees(card("FB-1", "ready"))
	v.drag(card("FB-1", "ready"), "#col-running")
	v.sees("#toasts:has-text('nobody can start one by hand')")
	v.settled("FB-1", "ready")
	if status := s.job("FB-1").Status; status != "ready" {
		t.Errorf("FB-1 is %s after a move that nothing allows", status)
	}

	v.must("hover", v.tab.Locator(card("FB-2", "ready")).Hover())
	v.click(card("FB-2", "ready") + " .job-menu")
	v.click("#card-fb-2 [name=to][value=waiting]")
	v.settled("FB-2", "waiting")

	v.must("focus", v.tab.Locator(card("FB-3", "ready")+" .job-link").Focus())
	v.must("press m", v.tab.Keyboard().Press("m"))
	v.sees("#card-fb-3 [name=to][value=waiting]")
	v.must("press 1", v.tab.Keyboard().Press("1"))
	v.sees(card("FB-3", "waiting"))
	eventually(t, "FB-3 paused", func() bool { return s.job("FB-3").Status == "paused" })
	v.must("focus", v.tab.Locator(card("FB-3", "waiting")+" .job-link").Focus())
	v.must("press m", v.tab.Keyboard().Press("m"))
	v.sees("#menu-fb-3:popover-open")
	v.must("press 5", v.tab.Keyboard().Press("5"))
	v.sees("#toasts:has-text('A job is done when its work was handed in and accepted.')")
	v.settled("FB-3", "waiting")
	v.open("/jobs/FB-3")
	v.must("press m", v.tab.Keyboard().Press("m"))
	v.sees("#job-menu:popover-open")
	v.must("press 3", v.tab.Keyboard().Press("3"))
	v.sees("#toasts:has-text('nobody can start one by hand')")
}

// A move that comes too late is taken back, and the page says why.
func TestAMoveThatCameTooLateSaysWhy(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Contested")
	v := s.visit(look{theme: "light", width: 1440, height: 900, noScript: true})
	v.logIn() // without scripts the page stays as it was loaded
	agent := s.agent("claude-1")
	claim(t, agent)
	complete(t, agent, "FB-1")
	v.click(card("FB-1", "ready") + " .job-menu")
	v.click("#card-fb-1 [name=to][value=waiting]")
	v.sees(".toasts:has-text('FB-1 is in Done')")
	if status := s.job("FB-1").Status; status != "completed" {
		t.Errorf("FB-1 is %s; want completed", status)
	}
}

// What works without scripts: log in, see the board, submit, move.
func TestTheMainPathNeedsNoScript(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.agent("claude-1")
	v := s.visit(look{theme: "dark", width: 1440, height: 900, noScript: true})
	v.logIn()
	v.open("/jobs/new")
	v.fill("#title", "Written without scripts")
	v.click("button[type=submit]:has-text('Create job')")
	v.must("reach the job", v.tab.WaitForURL(keyInURL))
	v.open("/board")
	v.sees(card("FB-1", "ready"))
	v.click(card("FB-1", "ready") + " .job-menu")
	v.click("#card-fb-1 [name=to][value=waiting]")
	v.sees(card("FB-1", "waiting"))
}

// The form keeps what was typed when the server refuses it, and a double
// submit is one job.
func TestTheFormKeepsWhatWasTypedAndSubmitsOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.agent("claude-1")
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/new")
	v.fill("#title", "Keep me")
	v.fill("#body", "All of **this**")
	v.must("too many minutes", v.tab.Locator("#estimated_minutes").Fill("999999"))
	v.click("button[type=submit]:has-text('Create job')")
	v.sees("[aria-invalid=true], .err, .help-bad")
	if got, err := v.tab.Locator("#body").InputValue(); err != nil || got != "All of **this**" {
		t.Errorf("the body is %q, %v", got, err)
	}
	v.fill("#estimated_minutes", "20")
	_, err := v.tab.Evaluate(`() => { const b = [...document.querySelectorAll("button[type=submit]")]
		.find((b) => b.textContent.includes("Create job")); b.click(); b.click(); }`)
	v.must("press twice", err)
	v.must("reach the job", v.tab.WaitForURL(keyInURL))
	if !strings.HasSuffix(v.tab.URL(), "/jobs/FB-1") {
		t.Errorf("the job is at %s", v.tab.URL())
	}
	answer, err := s.owner().ListJobsWithResponse(t.Context(), nil)
	if err != nil || len(answer.JSON200.Items) != 1 {
		t.Errorf("%d jobs, %v; want 1", len(answer.JSON200.Items), err)
	}
}

// A job that no live factory can run is accepted, and the form, the board and
// the job say so and why.
func TestAJobThatNobodyCanRunSaysSo(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.agent("claude-1")
	stuck(t, s, "Port the prompt cache", "engine:codex")
	v := s.visit(desktop)
	v.logIn()
	v.sees("text=1 job cannot run on any live factory")
	v.sees(card("FB-1", "ready") + ":has-text('engine:codex')")
	v.open("/jobs/FB-1")
	v.sees("text=engine:codex")
}

// The set-up link makes the first owner, once.
func TestTheSetUpLinkWorksOnce(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "DATABASE_URL="+freshDatabase(t))
	v := s.visit(desktop)
	v.open(s.setup)
	v.fill("#workspace", "Kestrel Labs")
	v.fill("#name", "Mara Ilić")
	v.fill("#email", ownerEmail)
	v.fill("#password", ownerPassword)
	v.click("button[type=submit]")
	v.must("reach the board", v.tab.WaitForURL("**/board"))
	v.sees("text=Mara Ilić")
	v.sees("#workspace-btn:has-text('Kestrel Labs')")
	again := s.visit(desktop)
	again.open(s.setup)
	again.sees("text=not valid any more")
	again.logIn()
}

// What "Show more" brought stays when the column changes.
func TestMoreCardsStayUnderLiveChanges(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit(titles(60)...)
	v := s.visit(desktop)
	v.logIn()
	v.live()
	v.must("scroll", v.tab.Locator("#more-ready").ScrollIntoViewIfNeeded())
	v.click("#more-ready a, #more-ready button")
	v.sees(card("FB-60", "ready"))
	s.submit("One more")
	v.sees("#n-ready:has-text('61')")
	v.sees(card("FB-60", "ready"))
}

// The palette opens what was typed, however fast Enter follows.
func TestThePaletteOpensWhatWasTyped(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Fix the reaper", "Split the board query")
	v := s.visit(desktop)
	v.logIn()
	v.must("open the palette", v.tab.Keyboard().Press("Control+k"))
	v.must("type", v.tab.Keyboard().Type("board query"))
	v.must("press Enter", v.tab.Keyboard().Press("Enter"))
	v.must("reach the job", v.tab.WaitForURL("**/jobs/FB-2"))
}
