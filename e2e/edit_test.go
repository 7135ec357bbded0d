package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
)

// make makes a job, with what it needs.
func (s *server) make(in api.NewJob) {
	s.t.Helper()
	answer, err := s.owner().CreateJobWithResponse(s.t.Context(), nil, in)
	if err != nil || answer.StatusCode() != http.StatusCreated {
		s.t.Fatalf("create: %v %s", err, body(answer))
	}
}

// focused waits until the element has the focus.
func (v *visitor) focused(selector string) {
	v.t.Helper()
	if err := playwright.NewPlaywrightAssertions(timeout).Locator(v.tab.Locator(selector)).ToBeFocused(); err != nil {
		v.t.Fatalf("%s: %v", selector, err)
	}
}

// savedAs waits for the page of the job with that title.
func (v *visitor) savedAs(title string) {
	v.t.Helper()
	v.must("reach the job", v.tab.WaitForURL(keyInURL))
	v.sees("h1:has-text('" + title + "')")
}

// A job is edited from the board by keyboard alone.
func TestAJobIsEditedByKeyboard(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Lay the foundation", "Raise the roof")
	v := s.visit(desktop)
	v.logIn()
	v.live()
	v.must("focus a card", v.tab.Locator(card("FB-2", "ready")+" .job-link").Focus())
	v.key("e")
	v.must("reach the form", v.tab.WaitForURL("**/jobs/FB-2/edit"))
	v.focused("#title")
	v.key("End")
	v.must("type", v.tab.Keyboard().Type(" again"))
	v.key("Tab")
	v.must("focus the description", v.tab.Locator("#body").Focus())
	v.must("type", v.tab.Keyboard().Type("Of slate."))
	v.must("focus the dependencies", v.tab.Locator("#dep").Focus())
	v.must("type", v.tab.Keyboard().Type("foundation"))
	v.sees("#dep-options [role=option][data-key='FB-1']")
	v.key("Enter")
	v.sees("#dep-chosen [data-dep][value='FB-1']")
	v.key("Control+Enter")
	v.savedAs("Raise the roof again")
	if j := s.job("FB-2"); j.Body != "Of slate." || len(j.DependsOn) != 1 {
		t.Errorf("the text is %q, it waits for %v", j.Body, j.DependsOn)
	}
	v.key("e")
	v.must("reach the form", v.tab.WaitForURL("**/jobs/FB-2/edit"))
	v.has("#body", "Of slate.")
}

// Without JavaScript a job is edited too, a refused form leads to its fields, and what
// somebody else changed is taken over or not.
func TestAJobIsEditedWithoutScript(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Raise the roof")
	v := s.visit(look{theme: "light", width: 1440, height: 900, noScript: true})
	v.logIn()
	v.open("/jobs/FB-1")
	v.click("#bar-edit")
	v.fill("#priority", "12")
	v.click("button:has-text('Save')")
	v.focused("[data-form-error]")
	v.click("[data-form-error] a:has-text('Priority')")
	v.focused("#priority")
	v.fill("#priority", "3")
	v.fill("#title", "Raise it")

	other := s.visit(desktop)
	other.logIn()
	other.open("/jobs/FB-1/edit")
	other.fill("#priority", "7")
	other.key("Control+Enter")
	other.savedAs("Raise the roof")

	v.click("button:has-text('Save')")
	v.sees("#changed-priority:has-text('Priority is now 7, changed by Owner.')")
	v.has("#title", "Raise it")
	v.click("#changed-priority button")
	v.has("#priority", "7")
	v.click(".form-bar button:has-text('Save')")
	v.savedAs("Raise it")
	if j := s.job("FB-1"); j.Priority != 7 {
		t.Errorf("the priority is %d; want theirs", j.Priority)
	}
}

// Two people who edit one job learn of each other: the second sees field by field what
// the first changed, keeps the text, and saves over it knowingly.
func TestTwoEditsOfOneJob(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Raise the roof")
	v, other := s.visit(desktop), s.visit(desktop)
	for _, tab := range []*visitor{v, other} {
		tab.logIn()
		tab.open("/jobs/FB-1/edit")
	}
	other.fill("#title", "Theirs")
	other.fill("#priority", "7")
	other.key("Control+Enter")
	other.savedAs("Theirs")

	v.fill("#title", "Mine")
	v.must("mark the page", mark(v))
	v.key("Control+Enter")
	v.sees("#changed-title:has-text('Title is now Theirs, changed by Owner. Yours is still in the form.')")
	v.sees("#changed-priority:has-text('The form has it.')")
	v.focused("[data-form-error]")
	v.has("#title", "Mine")
	v.has("#priority", "7")
	if !marked(v) {
		t.Error("the page was loaded again")
	}
	v.must("focus the title", v.tab.Locator("#title").Focus())
	v.key("Enter") // is the button that saves
	v.savedAs("Mine")
	if j := s.job("FB-1"); j.Priority != 7 {
		t.Errorf("the priority is %d; want theirs", j.Priority)
	}
}

// What explains that no factory can run a job leads to the field that has to change. It
// failed and is retried with that change, and runs.
func TestRetryWithChangesRuns(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-1")
	s.make(api.NewJob{Title: "Raise the roof", Capabilities: &[]string{"engine:codex"}})
	v := s.visit(desktop)
	v.logIn()
	v.open("/needs-you")
	v.click("#need-fb-1 a:has-text('Change engine')")
	v.focused("#engine :checked")
	v.open("/jobs/FB-1")
	v.click("#why a:has-text('engine')")
	v.must("reach the form", v.tab.WaitForURL("**/jobs/FB-1/edit#engine"))
	v.focused("#engine :checked")
	v.click("#routability a:has-text('engine:codex')")
	v.focused("#engine :checked")

	v.open("/jobs/FB-1")
	v.key("m")
	v.click("#job-menu button:has-text('Cancel job')")
	v.click("#dlg-cancel button[type=submit]")
	v.click("#why a:has-text('retry it with changes')")
	v.sees("button.btn-primary:has-text('Save and retry')")
	v.click("#engine label:has-text('Any engine')")
	v.sees("#routability:has-text('1 of 1 factory can run this')")
	v.click("button:has-text('Save and retry')")
	v.savedAs("Raise the roof")
	v.sees("#toasts:has-text('FB-1 is tried again')")
	if held := claimed(t, agent); held.Key != "FB-1" {
		t.Errorf("claimed %s", held.Key)
	}
}

// A form is sent by the browser where it is pressed before the last script has come.
func TestAFormIsSentBeforeTheScriptsHaveCome(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	v := s.visit(desktop)
	v.logIn()
	come := make(chan struct{})
	v.must("hold htmx", v.tab.Route("**/htmx.min*", func(r playwright.Route) {
		go func() {
			<-come
			_ = r.Continue() // the page may have gone
		}()
	}))
	committed := playwright.WaitUntilStateCommit
	_, err := v.tab.Goto("/jobs/new", playwright.PageGotoOptions{WaitUntil: committed})
	v.must("open the form", err)
	v.fill("#title", "Raise the roof")
	v.click("button[type=submit]:has-text('Create job')")
	v.must("reach the job", v.tab.WaitForURL(keyInURL, playwright.PageWaitForURLOptions{WaitUntil: committed}))
	close(come)
	v.sees("h1:has-text('Raise the roof')")
}

// A duplicate begins with what the job says, and says what is missing.
func TestAJobIsDuplicated(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.make(api.NewJob{Title: "Raise the roof", Body: number("Of slate."), Tags: &[]string{"roof"}, Acceptance: &[]string{"It is dry"},
		InputContext: api.FreeForm(`{"BRANCH": "main", "TOKEN": "hush-hush"}`), SecretKeys: &[]string{"TOKEN"}})
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/FB-1")
	v.key("m")
	v.click("#job-menu a:has-text('Duplicate')")
	v.sees("#copied:has-text('FB-1 has a secret, TOKEN.')")
	v.has("#body", "Of slate.")
	v.has("#tags", "roof")
	v.has("#secrets", "")
	v.fill("#title", "Raise the other roof")
	v.click("button:has-text('Create job')")
	v.savedAs("Raise the other roof")
	if j := s.job("FB-2"); strings.Join(j.Acceptance, "") != "It is dry" || len(j.SecretKeys) != 0 {
		t.Errorf("made with %v and the secrets %v", j.Acceptance, j.SecretKeys)
	}
}
