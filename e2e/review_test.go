package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
)

// sampleChange is what an agent hands in: words, a diff, tests.
const sampleChange = `diff --git a/internal/fleet/drain.go b/internal/fleet/drain.go
--- a/internal/fleet/drain.go
+++ b/internal/fleet/drain.go
@@ -41,7 +41,9 @@ func (s *Service) Drain(ctx context.Context, who Principal, name string)
 	f, err := s.factory(ctx, who, name)
 	if err != nil {
 		return err
 	}
-	s.leases.ReleaseAll(ctx, f.ID)
-	return s.setState(ctx, f.ID, Draining)
+	// No new claims from now on. Leases that run keep their epoch.
+	if err := s.setState(ctx, f.ID, Draining); err != nil {
+		return err
+	}
+	return s.directives.Send(ctx, f.ID)
 }
diff --git a/internal/fleet/drain_test.go b/internal/fleet/drain_test.go
new file mode 100644
--- /dev/null
+++ b/internal/fleet/drain_test.go
@@ -0,0 +1,2 @@
+package fleet
+// The second drain changes nothing.
`

// submitForReview creates a job that a person is to approve.
func submitForReview(t *testing.T, s *server, n api.NewJob) {
	t.Helper()
	n.ReviewRequired = number(true)
	answer, err := s.owner().CreateJobWithResponse(t.Context(), nil, n)
	if err != nil || answer.StatusCode() != http.StatusCreated {
		t.Fatalf("submit: %v %s", err, answer.Body)
	}
}

// handIn claims the next job and completes it with a change.
func handIn(t *testing.T, agent *api.ClientWithResponses, commit string) api.Job {
	t.Helper()
	job := claimed(t, agent)
	result, err := json.Marshal(map[string]any{"diff": sampleChange, "tests": map[string]int{"passed": 1204, "failed": 0}, "lint_findings": 0, "model": "sonnet"})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := agent.CompleteJobWithResponse(t.Context(), api.Completion{Job: job.Key, Epoch: job.Lease.Epoch, Commit: &commit, Result: result,
		Branch: number("fleet/" + job.Key), Summary: number("Drain now **only stops** new claims and sends one directive for each agent.")})
	if err != nil || answer.StatusCode() != http.StatusOK {
		t.Fatalf("complete: %v %s", err, answer.Body)
	}
	return job
}

// claimed takes the next job, with all that its attempt is given.
func claimed(t *testing.T, agent *api.ClientWithResponses) api.Job {
	t.Helper()
	answer, err := agent.ClaimJobsWithResponse(t.Context(), api.ClaimRequest{})
	if err != nil || answer.JSON200 == nil {
		t.Fatalf("claim: %v %s", err, body(answer))
	}
	return answer.JSON200.Jobs[0]
}

func (v *visitor) key(key string) {
	v.t.Helper()
	v.must("press "+key, v.tab.Keyboard().Press(key))
}

// Two jobs are handed in; one is approved by a key with its criteria ticked, the
// other sent back with a reason, which its next attempt receives. New work
// appears without a reload.
func TestReviewByKeyboard(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-4")
	submitForReview(t, s, api.NewJob{Title: "Drain a factory without losing leases", Acceptance: &[]string{"No new claim", "Leases keep their epoch"}})
	handIn(t, agent, "9be04d1f00")
	v := s.visit(desktop)
	v.logIn()
	v.click(`nav.nav a[href="/review"]`)
	v.sees(`h2:has-text("Drain a factory")`)
	v.live()
	v.must("mark the page", mark(v))
	submitForReview(t, s, api.NewJob{Title: "Pin the runner image"})
	handIn(t, agent, "aa11bb22")
	v.sees("#rq-fb-2")
	v.sees(`#nav-review-n:has-text("2")`)

	v.click("#tick-0")
	v.sees("#tick-0[aria-checked=true]")
	v.key("Tab")
	v.key("Space")
	v.sees("#tick-1[aria-checked=true]")
	v.sees(`.rv-r:has-text("2 of 2")`)
	if !marked(v) {
		t.Error("the page was loaded again")
	}
	v.key("j")
	v.sees(`h2:has-text("Pin the runner image")`)
	v.key("k")
	v.sees(`h2:has-text("Drain a factory")`)
	v.key("?")
	v.sees(`#keys:has-text("Approve")`)
	v.key("Escape")
	v.key("a")
	v.sees(`#toasts:has-text("FB-1 approved")`)
	v.sees(`h2:has-text("Pin the runner image")`)

	v.key("r")
	v.sees("#dlg-reject[open]")
	v.key("a") // typed into the reason, not a decision
	v.key("Backspace")
	v.must("type the reason", v.tab.Keyboard().Type("Pin it by digest."))
	v.must("be quick", v.evaluate(`sessionStorage.setItem("decided", Date.now())`)) // after the approval
	v.click("#dlg-reject button[type=submit]")
	v.sees(`#toasts:has-text("FB-2 was sent back")`)
	v.sees(`h2:has-text("Drain a factory")`) // what waits for its merge
	again := handIn(t, agent, "cc33dd44")
	if again.Key != "FB-2" || again.Feedback != "Pin it by digest." {
		t.Errorf("the next attempt is of %s with %q", again.Key, again.Feedback)
	}
	v.open("/review?job=FB-2")
	v.sees(`.note-fb:has-text("Pin it by digest.")`)
	job := s.job("FB-1")
	if job.Status != "approved" {
		t.Errorf("FB-1 is %s", job.Status)
	}
}

// Without script the same page decides by plain forms, ticks included.
func TestReviewWithoutScript(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-4")
	for range 2 {
		submitForReview(t, s, api.NewJob{Title: "Drain a factory", Acceptance: &[]string{"No new claim"}})
		handIn(t, agent, "9be04d1f00")
	}
	how := desktop
	how.noScript = true
	v := s.visit(how)
	v.logIn()
	v.open("/review")
	v.click("#tick-0")
	v.sees("#tick-0[aria-checked=true]")
	v.fill("#review-bar [name=reason]", "Measure it.")
	v.click(`#review-bar form[action$="/reject"] button`)
	v.sees(`#toasts:has-text("FB-1 was sent back")`)
	v.click(`#review-bar .rv-sure:has-text("1 criterion is open")`)
	v.click(`#review-bar form[action$="/approve"] button`)
	v.sees(`#toasts:has-text("FB-2 approved")`)
	v.click(`#review-bar form[action$="/merge"] button`)
	v.sees(`#toasts:has-text("FB-2 completed")`)
	v.sees(`text=Nothing to review`)
}

// An agent asks, a person answers on the job's page, the next attempt gets both.
func TestAQuestionIsAnsweredOnTheJobPage(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-4")
	s.submit("Rotate the signing key")
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/FB-1")
	v.live()
	job := claimed(t, agent)
	answer, err := agent.AskQuestionWithResponse(t.Context(), api.Question{Job: job.Key, Epoch: job.Lease.Epoch, Question: "24 hours\nor 48?"})
	if err != nil || answer.StatusCode() != http.StatusOK {
		t.Fatalf("ask: %v %s", err, answer.Body)
	}
	v.sees(`#question:has-text("or 48?")`)
	v.fill("#answer-text", "48 hours.")
	v.click(`#answer button:has-text("Send answer")`)
	v.sees(`#given-answer:has-text("48 hours.")`)
	v.sees(`#question:focus`) // the form is gone, the reader is still there
	next := claimed(t, agent)
	if next.Question != "24 hours\nor 48?" || next.Answer != "48 hours." {
		t.Errorf("the next attempt gets %q and %q", next.Question, next.Answer)
	}
	v.sees(`#talk-1-0:has-text("24 hours")`)
	v.sees(`#talk-1-1:has-text("48 hours.")`)
}

// A person's answer and the live change that it makes are swapped in at the same time.
func TestTheFocusOutlivesSwapsThatOverlap(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Rotate the signing key")
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/FB-1")
	v.live()
	const overlap = `() => {
		const place = document.getElementById("attempts");
		const swap = (when) => document.dispatchEvent(new CustomEvent("htmx:" + when + ":swap", { detail: { tasks: [] } }));
		const take = () => { place.removeAttribute("tabindex"); place.blur(); };
		place.tabIndex = -1;
		place.focus();
		swap("before");
		take();
		swap("before");
		swap("after");
		take();
		swap("after");
	}`
	v.must("overlap two swaps", v.evaluate(overlap))
	v.sees(`#attempts:focus`)
	v.must("turn elsewhere", v.evaluate(`() => {
		document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
		document.activeElement.blur();
		for (const when of ["before", "after"]) document.dispatchEvent(new CustomEvent("htmx:" + when + ":swap", { detail: { tasks: [] } }));
	}`))
	if v.text(`document.activeElement.tagName`) != "BODY" {
		t.Error("the focus was taken from a person who had turned elsewhere")
	}
}

// readsLinks shows the page of one of three jobs, of which FB-3 waits for FB-2.
func readsLinks(t *testing.T, path string) *visitor {
	t.Helper()
	s := startServer(t)
	s.submit("Reaper: one guarded query", "Fix flaky TestReaper")
	depend(t, s, "Burn-down with projection fan", "FB-2")
	v := s.visit(desktop)
	v.logIn()
	v.open(path)
	v.live()
	return v
}

// Links are added and removed on the job's page; a circle is refused with its
// path.
func TestLinksAreDrawnAddedAndRemoved(t *testing.T) {
	t.Parallel()
	v := readsLinks(t, "/jobs/FB-1")
	link := func(kind, other string) {
		v.click("#link-new > summary")
		v.must("choose", selectOption(v, "#link-kind", kind))
		v.fill("#link-other", other)
		v.click(`#link-options label:has-text("Burn-down")`)
		v.click(`#link-new button:has-text("Add link")`)
	}
	link("blocks-by", "burn")
	v.sees(`#links svg a[href="/jobs/FB-3"]`)
	v.sees(`#links svg a[href="/jobs/FB-2"]`)
	v.open("/jobs/FB-1")
	v.live()
	link("blocks", "burn")
	v.sees(`#toasts:has-text("FB-1 → FB-3 → FB-1")`)
	v.click(`#link-blocks-by-FB-3 summary`)
	v.click(`#link-blocks-by-FB-3 button`)
	v.sees(`#toasts:has-text("Link removed")`)
	v.sees(`#links:has-text("none")`)
}

// The page may get a change before the answer to whoever made it is there, and
// the form is gone then. The answer is shown all the same.
func TestAnAnswerIsShownAlsoWhereItsFormIsGone(t *testing.T) {
	t.Parallel()
	v := readsLinks(t, "/jobs/FB-3")
	answered := make(chan struct{})
	v.must("hold the answer", v.tab.Route("**/unlink", func(r playwright.Route) {
		go func() {
			answer, err := r.Fetch()
			if err == nil {
				<-answered
				err = r.Fulfill(playwright.RouteFulfillOptions{Response: answer})
			}
			if err != nil {
				t.Errorf("the held answer: %v", err)
			}
		}()
	}))
	v.click(`#link-blocks-FB-2 summary`)
	v.click(`#link-blocks-FB-2 button`)
	v.sees(`#links:has-text("none")`)
	close(answered)
	v.sees(`#toasts:has-text("Link removed")`)
}

// The page is readable for everybody, full or empty, in both themes and at any
// width.
func TestReviewHasNoSeriousAccessibilityFault(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatalf("run tools/ensure-test-deps.sh: %v", err)
	}
	s := startServer(t)
	furnishReview(t, s)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int{390, 768, 1440} {
			v := s.visit(look{theme: theme, width: width, height: 900})
			v.logIn()
			for name, path := range map[string]string{"review": "/review?job=FB-1", "review-approved": "/review?job=FB-3", "review-gone": "/review?job=FB-5",
				"job-graph": "/jobs/FB-5", "job-asked": "/jobs/FB-6"} {
				v.open(path)
				v.checkAxe(string(script), fmt.Sprintf("%s-%d-%s", name, width, theme))
				v.wholePicture(fmt.Sprintf("%s-%d-%s-tall", name, width, theme))
			}
		}
	}
}

// wholePicture keeps the page's whole height, for a person to look at.
func (v *visitor) wholePicture(name string) {
	dir := os.Getenv("FLEETBOARD_E2E_PICTURES")
	if dir == "" || !strings.Contains(name, "job-") {
		return
	}
	_, _ = v.tab.Evaluate(`() => document.querySelector("#links, #question")?.scrollIntoView()`)
	v.picture(filepath.Join(dir, name+".png"))
}

// furnishReview fills the review page and the job pages that belong to it.
func furnishReview(t *testing.T, s *server) {
	t.Helper()
	agent := s.agent("claude-4")
	criteria := []string{"A draining factory gets no new claim", "Running jobs keep their lease and epoch", "Undrain takes effect with the next heartbeat", "Killing the web process in the middle loses nothing"}
	for _, title := range []string{"Drain a factory without losing leases", "Idempotent usage entries for resumed runs", "Skip link and landmarks on every page"} {
		submitForReview(t, s, api.NewJob{Title: title, Acceptance: &criteria, Body: number("Stop **new** claims only.")})
		handIn(t, agent, "9be04d1f00")
	}
	act := func(what string, answer interface{ StatusCode() int }, err error) {
		t.Helper()
		if err != nil || answer.StatusCode() != http.StatusOK {
			t.Fatalf("%s: %v", what, err)
		}
	}
	rejected, err := s.owner().RejectJobWithResponse(t.Context(), "FB-1", api.ReasonedAction{Reason: "Leases must end by themselves. Do not release them from the drain call."})
	act("reject", rejected, err)
	handIn(t, agent, "77aa01c2")
	approved, err := s.owner().ApproveJobWithResponse(t.Context(), "FB-3", api.ApproveAction{})
	act("approve", approved, err)
	s.submit("Reaper: one guarded query")
	depend(t, s, "Burn-down with projection fan", "FB-4")
	s.submit("Rotate the signing key")
	depend(t, s, "Reallocate a budget", "FB-5")
	depend(t, s, "Show the projection", "FB-5")
	for _, l := range []struct{ job, other, kind string }{{"FB-5", "FB-6", "parent"}, {"FB-2", "FB-5", "discovered_from"}, {"FB-3", "FB-4", "blocks"}} {
		made, err := s.owner().LinkJobWithResponse(t.Context(), l.job, api.NewLink{DependsOn: l.other, Type: number(api.LinkType(l.kind))})
		act("link", made, err)
	}
	claimed(t, agent)
	job := claimed(t, agent)
	asked, err := agent.AskQuestionWithResponse(t.Context(), api.Question{Job: job.Key, Epoch: job.Lease.Epoch, Question: "Is 24 hours of overlap enough, or 48?"})
	act("ask", asked, err)
}
