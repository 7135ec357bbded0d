package e2e

import (
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// One person answers in a job's thread while another writes there: the answer appears, and
// what is half typed stays.
func TestAnAnswerAppearsWhileSomebodyWrites(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Fix flaky TestReaper")
	agent := s.agent("claude-1")
	send(t, agent, api.NewMessage{Type: "custom.note", To: api.NewMessageAddress{Agent: new("claude-1")},
		Job: new("FB-1"), Payload: api.FreeForm(`{"text": "It fails on Mondays."}`)})
	ada, bob := s.visit(desktop), s.visit(look{theme: "dark", width: 390, height: 844})
	for _, v := range []*visitor{ada, bob} {
		v.logIn()
		v.open("/messages?thread=FB-1")
		v.sees("#msg-ol:has-text('It fails on Mondays.')")
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
	s.finds("schema")
	v.fill("#msg-q", "schema")
	v.must("search", v.tab.Locator("#msg-q").Press("Enter"))
	v.sees("#msg-list mark:has-text('schema')")
	v.click("#msg-list a.rq")
	v.sees("#msg-ol .msg:target")
}

// What is written about a job appears on its open page, and what somebody looks at there
// stays.
func TestAMessageAppearsOnItsJobsPage(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Fix flaky TestReaper")
	agent := s.agent("claude-1")
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/FB-1")
	v.live()
	for _, text := range []string{"It is the clock.", "It is not the clock."} {
		send(t, agent, api.NewMessage{Type: "custom.note", To: api.NewMessageAddress{Agent: new("claude-1")},
			Job: new("FB-1"), Payload: api.FreeForm(`{"text": "` + text + `"}`)})
		v.sees("#messages .msg-job:has-text('" + text + "')")
		v.must("look at the thread", v.tab.Locator(".msg-job").Focus())
	}
	v.sees("#messages .msg-job:focus")
}

// A message that an agent gave back too often is a dead letter; a person redrives it, and
// the agent has it again.
func TestADeadLetterIsRedriven(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-1")
	send(t, s.owner(), api.NewMessage{Type: "custom.note", To: api.NewMessageAddress{Agent: new("claude-1")},
		Payload: api.FreeForm(`{"text": "Which schema is it?"}`)})
	v := s.visit(desktop)
	v.logIn()
	for dead := false; !dead; {
		answer, err := agent.NackMessageWithResponse(t.Context(), api.MessageNack{Seq: hears(t, agent).Seq,
			Error: new("no such table"), RetryInSeconds: new(1)})
		if err != nil || answer.JSON200 == nil {
			t.Fatalf("give back: %v %s", err, body(answer))
		}
		dead = answer.JSON200.Dead
	}
	v.open("/messages?tab=dead")
	v.sees("#dead-panel .need:has-text('no such table')")
	v.click("#dead-panel button:has-text('Redrive')")
	v.sees("#dead-panel:has-text('No dead letters')")
	hears(t, agent)
}

// send sends a message.
func send(t *testing.T, from *api.ClientWithResponses, m api.NewMessage) {
	t.Helper()
	answer, err := from.SendMessageWithResponse(t.Context(), m)
	if err != nil || answer.JSON201 == nil {
		t.Fatalf("send: %v %s", err, answer.Body)
	}
}

// hears waits for a message in an agent's inbox.
func hears(t *testing.T, agent *api.ClientWithResponses) api.Message {
	t.Helper()
	answer, err := agent.ReadMessagesWithResponse(t.Context(), &api.ReadMessagesParams{WaitSeconds: new(30)})
	if err != nil || answer.JSON200 == nil || len(answer.JSON200.Items) != 1 {
		t.Fatalf("read: %v %s", err, body(answer))
	}
	return answer.JSON200.Items[0]
}

// finds waits until a message is found by a word.
func (s *server) finds(word string) {
	s.t.Helper()
	for {
		a, err := s.owner().SearchMessagesWithResponse(s.t.Context(), &api.SearchMessagesParams{Q: word})
		if err != nil || a.JSON200 == nil {
			s.t.Fatalf("search for %s: %v, %s", word, err, a.Body)
		}
		if len(a.JSON200.Items) > 0 {
			return
		}
	}
}
