package e2e

import "testing"

// One person answers in a job's thread while another writes there: the answer appears, and
// what is half typed stays.
func TestAnAnswerAppearsWhileSomebodyWrites(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Fix flaky TestReaper")
	agent := s.agent("claude-1")
	claim(t, agent)
	complete(t, agent, "FB-1")
	ada, bob := s.visit(desktop), s.visit(look{theme: "dark", width: 390, height: 844})
	for _, v := range []*visitor{ada, bob} {
		v.logIn()
		v.open("/messages?thread=FB-1")
		v.sees("#msg-ol:has-text('task_done')")
	}
	ada.live()
	ada.fill("#text", "Half a sen")
	bob.fill("#text", "It was the clock. <b>Really</b>")
	bob.click("#answer button[type=submit]")
	bob.sees("#msg-ol:has-text('<b>Really</b>')")
	ada.sees("#msg-ol:has-text('It was the clock.')")
	ada.sees("#text:focus")
	if text, err := ada.tab.Locator("#text").InputValue(); err != nil || text != "Half a sen" {
		t.Errorf("the text is %q, %v", text, err)
	}
	ada.fill("#text", "So it was")
	ada.must("send", ada.tab.Locator("#text").Press("Control+Enter"))
	ada.sees("#msg-ol:has-text('So it was')")
}

// Without scripts messages are read, written and searched.
func TestMessagesWithoutScripts(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.agent("claude-1")
	v := s.visit(look{theme: "light", width: 1440, height: 900, noScript: true})
	v.logIn()
	v.open("/messages")
	v.click("a:has-text('New message')")
	v.fill("#name", "claude-1")
	v.fill("#text", "Which schema is it?")
	v.click("#new-message button[type=submit]")
	v.sees("#msg-ol:has-text('Which schema is it?')")
	v.fill("#msg-q", "schema")
	v.must("search", v.tab.Locator("#msg-q").Press("Enter"))
	v.sees("#msg-list mark:has-text('schema')")
	v.click("#msg-list a.rq")
	v.sees("#msg-ol .msg:target")
}
