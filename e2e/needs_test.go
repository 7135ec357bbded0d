package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/fleetboard/fleetboard/api"

	"github.com/playwright-community/playwright-go"
)

// ask lets the agent claim a job and ask about it.
func ask(t *testing.T, agent *api.ClientWithResponses, question string) {
	t.Helper()
	job := claimed(t, agent)
	answer, err := agent.AskQuestionWithResponse(t.Context(), api.Question{Job: job.Key, Epoch: job.Lease.Epoch, Question: question})
	if err != nil || answer.StatusCode() != http.StatusOK {
		t.Fatalf("ask: %v %s", err, body(answer))
	}
}

// breakDown lets the agent claim a job and fail for good.
func breakDown(t *testing.T, agent *api.ClientWithResponses) {
	t.Helper()
	job := claimed(t, agent)
	answer, err := agent.FailJobWithResponse(t.Context(), api.Failure{Job: job.Key, Epoch: job.Lease.Epoch,
		Error: "exit status 2", Retryable: number(false)})
	if err != nil || answer.StatusCode() != http.StatusOK {
		t.Fatalf("fail: %v %s", err, body(answer))
	}
}

// counts waits until the navigation, the title and the icon say how many jobs wait for
// a person.
func (v *visitor) counts(n int) {
	v.t.Helper()
	text, title, icon := fmt.Sprint(n), fmt.Sprintf(`^\(%d\) `, n), `/mark-needed-\w+\.svg$`
	if n == 0 {
		text, title, icon = "", `^[^(]`, `/mark-[0-9a-f]{8}\.svg$`
	}
	expect := playwright.NewPlaywrightAssertions(timeout)
	v.must("the count in the navigation", expect.Locator(v.tab.Locator("#nav-needs-n")).ToHaveAttribute("data-count", text))
	v.must("the count in the title", expect.Page(v.tab).ToHaveTitle(regexp.MustCompile(title)))
	v.must("the icon", expect.Locator(v.tab.Locator("#icon")).ToHaveAttribute("href", regexp.MustCompile(icon)))
}

// A question and a failed job appear without a reload, also while an answer is being
// typed; both are dealt with by keyboard on their rows, and the count follows.
func TestWhatNeedsAPersonIsDealtWithInPlace(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-1")
	v := s.visit(desktop)
	v.logIn()
	v.live()
	v.counts(0)
	v.key("g")
	v.key("n")
	v.must("reach the page", v.tab.WaitForURL("**/needs-you"))
	v.sees("text=Nothing needs you")
	v.live()
	v.must("mark the page", mark(v))

	s.submit("Rotate the signing key")
	ask(t, agent, "24 hours, or 48?")
	v.sees("#need-fb-1:has-text('24 hours, or 48?')")
	v.counts(1)
	v.key("j")
	v.key("Tab")
	v.must("type", v.tab.Keyboard().Type("Take 48 "))
	s.submit("Publish the client")
	breakDown(t, agent)
	v.sees("#need-fb-2:has-text('exit status 2')")
	v.counts(2)
	v.must("type on", v.tab.Keyboard().Type("hours."))
	v.has("#answer-fb-1", "Take 48 hours.")
	v.key("Control+Enter")
	v.gone("#need-fb-1")
	v.counts(1)
	if job := s.job("FB-1"); job.Status != api.JobStatusReady {
		t.Errorf("FB-1 is %s", job.Status)
	}

	v.must("focus Retry", v.tab.Locator("#need-fb-2 button:has-text('Retry')").Focus())
	v.key("Enter")
	v.sees("text=Nothing needs you")
	v.counts(0)
	if job := s.job("FB-2"); job.Status != api.JobStatusReady {
		t.Errorf("FB-2 is %s", job.Status)
	}
	if !marked(v) {
		t.Error("the page was loaded again")
	}
}

// The count follows on other pages too, where a live change brings a title of its own.
func TestTheCountIsLiveOnTheBoard(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-1")
	v := s.visit(desktop)
	v.logIn()
	v.live()
	s.submit("Rotate the signing key", "Publish the client")
	ask(t, agent, "24 hours, or 48?")
	v.counts(1)
	claimed(t, agent)
	v.must("see both numbers in the title", playwright.NewPlaywrightAssertions(timeout).Page(v.tab).ToHaveTitle(
		regexp.MustCompile(`^\(1\) Board \(1 running\)`)))
	v.must("the question on top", v.tab.Locator("#list-waiting > li:first-child#card-fb-1").WaitFor())
}

// Without scripts the rows are plain forms that lead back to the page.
func TestWhatNeedsAPersonWithoutScripts(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-1")
	s.submit("Rotate the signing key")
	ask(t, agent, "24 hours, or 48?")
	v := s.visit(look{theme: "light", width: 1440, height: 900, noScript: true})
	v.logIn()
	v.click(`nav.nav a[href="/needs-you"]`)
	v.fill("#answer-fb-1", "48 hours")
	v.click("#need-fb-1 button:has-text('Send answer')")
	v.sees("text=Nothing needs you")
	v.sees("text=FB-1 got its answer")
	v.counts(0)
}

// gone waits until the selector is not on the page.
func (v *visitor) gone(selector string) {
	v.t.Helper()
	v.must(selector+" goes", v.tab.Locator(selector).WaitFor(playwright.LocatorWaitForOptions{State: playwright.WaitForSelectorStateDetached}))
}
