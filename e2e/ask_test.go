package e2e

import "testing"

// A drag that cancels asks for the reason as the job's page does: Escape puts the card
// back, a live change closes nothing. The menu and the keys do the same.
func TestADestructiveMoveAsks(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Dragged", "By key")
	v := s.visit(desktop)
	v.logIn()
	v.live()

	v.drag(card("FB-1", "ready"), "#col-failed")
	v.sees(`#asked #dlg-cancel[open]:has-text("Cancel FB-1?")`)
	v.sees(card("FB-1", "ready"))
	v.fill("#why-cancel", "Half a sen")
	s.submit("Meanwhile")
	v.sees(card("FB-3", "ready"))
	if text, err := v.tab.Locator("#dlg-cancel[open] #why-cancel").InputValue(); err != nil || text != "Half a sen" {
		t.Errorf("the reason is %q, %v", text, err)
	}
	v.key("Escape")
	v.sees("#dlg-cancel:not([open])")
	v.sees("#card-fb-1 .job-link:focus")
	if status := s.job("FB-1").Status; status != "ready" {
		t.Errorf("FB-1 is %s after Escape", status)
	}

	v.drag(card("FB-1", "ready"), "#col-failed")
	v.sees("#dlg-cancel[open]")
	v.fill("#why-cancel", "No longer needed")
	v.click(`#dlg-cancel button:has-text("Cancel job")`)
	v.settled("FB-1", "failed")
	if job := s.job("FB-1"); job.Status != "aborted" || job.LastError != "No longer needed" {
		t.Errorf("FB-1 is %s, %q", job.Status, job.LastError)
	}

	v.must("focus", v.tab.Locator(card("FB-2", "ready")+" .job-link").Focus())
	v.key("m")
	v.sees("#card-fb-2 [data-to=failed]")
	v.key("6")
	v.sees(`#dlg-cancel[open]:has-text("Cancel FB-2?")`)
	v.key("Escape")
	v.sees("#card-fb-2 .job-link:focus")
	if status := s.job("FB-2").Status; status != "ready" {
		t.Errorf("FB-2 is %s after Escape", status)
	}
}

// A drag that takes the lease from an agent asks for confirmation too; work that was accepted is not
// thrown away without a question. Without scripts the job's page has the dialog.
func TestTakingALeaseAsks(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Runs", "Done")
	agent := s.agent("claude-1")
	claim(t, agent)
	v := s.visit(desktop)
	v.logIn()
	v.live()
	v.drag(card("FB-1", "running"), "#col-ready")
	v.sees(`#dlg-release[open]:has-text("claude-1 loses it at once")`)
	v.key("Escape")
	v.sees(card("FB-1", "running"))
	complete(t, agent, "FB-1")
	v.sees("#list-done #card-fb-1")
	v.drag("#list-done #card-fb-1", "#col-ready")
	v.sees(`#dlg-retry[open]:has-text("Go on with FB-1?")`)
	v.key("Escape")
	v.sees("#list-done #card-fb-1")

	how := desktop
	how.noScript = true
	plain := s.visit(how)
	plain.logIn()
	plain.click(card("FB-2", "ready") + " .job-menu")
	plain.click("#card-fb-2 [data-to=failed]")
	plain.fill("#dlg-cancel [name=reason]", "No longer needed")
	plain.key("Enter")
	plain.sees(`#toasts:has-text("FB-2 cancelled")`)
}
