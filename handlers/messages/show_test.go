package messages_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// note returns a message with a text.
func note(to bus.Address, text string) bus.Draft {
	said, _ := json.Marshal(map[string]string{"text": text})
	return bus.Draft{Type: "custom.note", To: to, Payload: said}
}

func send(t *testing.T, d *handlertest.Workspace, from tenancy.Principal, list ...bus.Draft) []bus.Sent {
	t.Helper()
	sent, err := d.Bus.Publish(t.Context(), from, list...)
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// me returns the person at the workspace's browser, and how messages name them.
func me(t *testing.T, d *handlertest.Workspace) bus.Address {
	t.Helper()
	return bus.Address{Kind: bus.ToPerson, Name: dbfactory.Text(t, d.DB, `SELECT a.id::text FROM account a ORDER BY a.created_at DESC LIMIT 1`)}
}

// readable waits until somebody's inbox shows what was sent: older transactions of other
// tests hold it back.
func readable(t *testing.T, d *handlertest.Workspace, to bus.Address) {
	t.Helper()
	who := d.Owner
	who.Account, _ = ids.Parse(to.Name)
	in, err := d.Bus.Read(t.Context(), who, bus.Query{Wait: bus.MaxWait, Limit: 1, Peek: true})
	if err != nil || len(in.Messages) == 0 {
		t.Fatalf("%d messages, %v", len(in.Messages), err)
	}
}

func agent(name string) bus.Address { return bus.Address{Kind: bus.ToAgent, Name: name} }

func thread(m bus.Sent) string { return "/messages?thread=" + url.QueryEscape(m.CorrelationID) }

// Threads are listed by their last message, with who takes part, and one of them is shown at
// length, the oldest message first.
func TestThreadsAreListedAndShown(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	ada, bob := d.Agent("ada"), d.Agent("bob")
	d.Job("Drain a factory")
	first := send(t, d, ada, note(agent("bob"), "Which schema is it?"))[0]
	about := note(agent("ada"), "on FB-1")
	about.Job = "FB-1"
	send(t, d, bob, about)
	answer := note(agent("ada"), "Version 25")
	answer.InReplyTo = first.ID
	send(t, d, bob, answer)

	doc := handlertest.Page(t, d.Get("/messages"), http.StatusOK)
	handlertest.WantCount(t, doc, "#msg-list li", 2)
	handlertest.WantText(t, doc, "#msg-list li:first-child", "Which schema is it?")
	handlertest.WantText(t, doc, "#msg-list li:first-child", "ada, bob")
	handlertest.WantText(t, doc, "#msg-list li:last-child", "FB-1")
	handlertest.WantText(t, doc, "#msg-list li:last-child", "Drain a factory")
	handlertest.WantText(t, doc, ".msg-none", "POST /api/v1/messages")
	handlertest.WantCount(t, doc, `.side a[href="/messages"][aria-current=page]`, 1)

	doc = handlertest.Page(t, d.Get(thread(first)), http.StatusOK)
	handlertest.WantCount(t, doc, "#msg-ol li", 2)
	handlertest.WantText(t, doc, "#msg-ol li:first-child .msg-t", "Which schema is it?")
	handlertest.WantText(t, doc, "#msg-ol li:last-child .msg-h", "bob to ada custom.note")
	handlertest.WantText(t, doc, "#answer option[selected], #answer option:first-child", "bob")
	handlertest.WantCount(t, doc, `#live[hx-sse\:connect*="on=messages"]`, 1)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/messages?thread=none"), http.StatusOK), "#msg-thread", "There is nothing in this thread")

	// What the server says has a list of its own.
	dbfactory.Exec(t, d.DB, `UPDATE message SET from_kind = 'system', from_id = NULL WHERE job_id IS NOT NULL`)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/messages"), http.StatusOK), "#msg-list li", 1)
	doc = handlertest.Page(t, d.Get("/messages?tab=notices"), http.StatusOK)
	handlertest.WantCount(t, doc, "#msg-list li", 1)
	handlertest.WantText(t, doc, "#msg-list li", "Drain a factory")
}

// The list goes on where a page of it ends, each thread once.
func TestTheListGoesOn(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	ada := d.Agent("ada")
	var list []bus.Draft
	for range 50 {
		list = append(list, note(agent("ada"), "again"))
	}
	send(t, d, ada, list...)
	seen := map[string]bool{}
	next := "/messages"
	for pages := 0; next != ""; pages++ {
		doc := handlertest.Page(t, d.Get(next), http.StatusOK)
		for _, l := range doc.Find("#msg-list li").Nodes {
			seen[l.Attr[0].Val] = true
		}
		next = doc.Find("#msg-list > .rv-more").Last().AttrOr("href", "")
		if strings.HasSuffix(next, "/messages") || pages > 3 {
			break
		}
	}
	if len(seen) != 50 {
		t.Errorf("%d threads were listed, want 50", len(seen))
	}
}

// What is for a person has a mark until its thread was read; looking does not take it away.
func TestWhatIsForAPersonIsMarkedUntilItIsRead(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	sent := send(t, d, d.Agent("ada"), note(me(t, d), "May I?"))[0]
	readable(t, d, me(t, d))
	for _, path := range []string{"/messages", "/messages?tab=you", thread(sent)} {
		doc := handlertest.Page(t, d.Get(path), http.StatusOK)
		handlertest.WantCount(t, doc, "#msg-list .msg-dot", 1)
	}
	doc := handlertest.Page(t, d.Get(thread(sent)), http.StatusOK)
	seq := doc.Find("form[data-seen] [name=seq]").AttrOr("value", "")
	handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleMember).Get(thread(sent)), http.StatusOK), "form[data-seen]", 0)
	handlertest.WantRedirect(t, d.Post("/messages/seen", url.Values{"thread": {sent.CorrelationID}, "seq": {seq}}), thread(sent))
	doc = handlertest.Page(t, d.Get("/messages?tab=you"), http.StatusOK)
	handlertest.WantText(t, doc, "#msg-list", "Nothing waits for you")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/messages"), http.StatusOK), "#msg-list .msg-dot", 0)
	handlertest.WantStatus(t, d.Post("/messages/seen", url.Values{"thread": {"x"}, "seq": {"soon"}}), http.StatusBadRequest)
}

// An answer goes to whom the form says, in the thread, once however often it is sent.
func TestAPersonAnswers(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	ada := d.Agent("ada")
	sent := send(t, d, ada, note(me(t, d), "May I?"))[0]
	doc := handlertest.Page(t, d.Get(thread(sent)), http.StatusOK)
	form := url.Values{"text": {"You may"}, "to": {"agent:ada"}}
	for _, name := range []string{"id", "reply", "thread"} {
		form.Set(name, doc.Find("#answer [name="+name+"]").AttrOr("value", ""))
	}
	for range 2 {
		handlertest.WantRedirect(t, d.Post("/messages/send", form), thread(sent))
	}
	in, err := d.Bus.Read(t.Context(), ada, bus.Query{Limit: 10, Wait: bus.MaxWait})
	if err != nil || len(in.Messages) != 1 || string(in.Messages[0].Payload) != `{"text": "You may"}` || in.Messages[0].InReplyTo != sent.ID {
		t.Errorf("ada got %+v, %v", in.Messages, err)
	}
	form.Set("to", "agent:eve")
	form.Set("id", ids.New().String())
	doc = handlertest.Page(t, d.Post("/messages/send", form), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#to-e", "There is no agent eve")
	handlertest.WantText(t, doc, "#answer textarea", "You may")
}

// What is wrong with a new message stands at its field, and what was typed stays.
func TestANewMessageIsRefusedAtItsFields(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("ada")
	good := url.Values{"to": {"agent"}, "name": {"ada"}, "text": {"Hello"}, "thread": {""}, "job": {""}}
	for field, change := range map[string]url.Values{
		"name": {"name": {"eve"}}, "to": {"to": {"everybody"}}, "text": {"text": {"  "}}, "job": {"job": {"FB-99"}},
		"thread": {"thread": {strings.Repeat("x", 129)}},
	} {
		form := url.Values{}
		for name, values := range good {
			form[name] = values
		}
		for name, values := range change {
			form[name] = values
		}
		doc := handlertest.Page(t, d.Post("/messages/send", form), http.StatusUnprocessableEntity)
		handlertest.WantCount(t, doc, "#"+field+"-e", 1)
		handlertest.WantCount(t, doc, "#new-message .field-e", 1)
	}
	large := url.Values{"to": {"agent"}, "name": {"ada"}, "text": {strings.Repeat("x", 20_001)}}
	handlertest.WantText(t, handlertest.Page(t, d.Post("/messages/send", large), http.StatusUnprocessableEntity), "#text-e", "20,000 characters")
	all := url.Values{"to": {"all"}, "text": {"Stop"}}
	doc := handlertest.Page(t, d.As(tenancy.RoleMember).Post("/messages/send", all), http.StatusForbidden)
	handlertest.WantText(t, doc, "#new-message .form-err", "Only owners and admins write to all agents.")
	if res := d.Post("/messages/send", all); res.StatusCode != http.StatusSeeOther {
		t.Errorf("an owner is answered %d", res.StatusCode)
	}
}

// Viewers read and write nothing.
func TestViewersReadMessages(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	sent := send(t, d, d.Agent("ada"), note(agent("ada"), "Hello"))[0]
	viewer := d.As(tenancy.RoleViewer)
	doc := handlertest.Page(t, viewer.Get(thread(sent)), http.StatusOK)
	handlertest.WantText(t, doc, "#msg-ol", "Hello")
	handlertest.WantCount(t, doc, "#answer, a[href*=new], a[href*=dead]", 0)
	handlertest.WantStatus(t, viewer.Get("/messages?tab=dead"), http.StatusForbidden)
	handlertest.WantStatus(t, viewer.Post("/messages/send", url.Values{"to": {"agent:ada"}, "text": {"x"}}), http.StatusForbidden)
}

// Texts of agents are shown as they are and do nothing.
func TestHostileMessagesAreText(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	ada := d.Agent("ada")
	evil := "<script>alert(1)</script>\x1b[31m\u202e \x02<b>\x03"
	n := note(agent("ada"), evil+" needle")
	n.CorrelationID = `"><img src=x onerror=alert(1)>`
	n.Type = "custom.note"
	sent := send(t, d, ada, n)[0]
	jobstest.IndexMessages(t, d.DB)
	for _, path := range []string{"/messages", thread(sent), "/messages?q=needle"} {
		html := handlertest.Read(t, d.Get(path), http.StatusOK)
		if strings.Contains(html, "<script>alert") || strings.Contains(html, "<img src=x") || strings.ContainsAny(html, "\x1b\x02\x03\u202e") {
			t.Errorf("%s shows it raw", path)
		}
	}
	doc := handlertest.Page(t, d.Get("/messages?q=needle"), http.StatusOK)
	handlertest.WantText(t, doc, "#msg-list mark", "needle")
	handlertest.WantCount(t, doc, "#msg-list mark", 1)
}

// A search is an address: words, phrases, type, sender and job.
func TestMessagesAreSearched(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	ada, bob := d.Agent("ada"), d.Agent("bob")
	d.Job("Drain")
	about := note(agent("bob"), "the quick brown fox")
	about.Job = "FB-1"
	send(t, d, ada, about)
	send(t, d, bob, note(agent("ada"), "brown and quick"))
	jobstest.IndexMessages(t, d.DB)
	for query, want := range map[string]int{
		"q=quick": 2, "q=%22quick+brown%22": 1, "q=quick&from=bob": 1, "q=quick&job=FB-1": 1, "q=quick&type=task_done": 0, "q=absent": 0, "q=!": 0, "type=custom.note": 0,
	} {
		doc := handlertest.Page(t, d.Get("/messages?"+query), http.StatusOK)
		if got := doc.Find("#msg-list li").Length(); got != want {
			t.Errorf("%s finds %d, want %d", query, got, want)
		}
		if want == 0 {
			handlertest.WantCount(t, doc, "#msg-list .empty", 1)
		}
	}
	doc := handlertest.Page(t, d.Get("/messages?q=quick&from=bob"), http.StatusOK)
	handlertest.WantCount(t, doc, "#msg-q[value=quick], #msg-from[value=bob]", 2)
}

// Dead letters say who, why and how often; an owner has them handed out again or discards
// them, by plain forms.
func TestDeadLettersAreRedrivenAndDiscarded(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	ada, bob := d.Agent("ada"), d.Agent("bob")
	list := send(t, d, bob, note(agent("ada"), "one"), note(agent("ada"), "two"))
	dbfactory.Exec(t, d.DB, `UPDATE message_delivery SET deliveries = 5, dead_at = now(), error = 'no such table <b>'`)
	doc := handlertest.Page(t, d.Get("/messages?tab=dead"), http.StatusOK)
	handlertest.WantCount(t, doc, "#dead-panel .need", 2)
	handlertest.WantText(t, doc, "#dead-panel .need:first-child", "ada was given it 5 times")
	handlertest.WantText(t, doc, "#dead-panel .need:first-child .msg-err", "no such table <b>")
	handlertest.WantRedirect(t, d.Post("/messages/dead/"+list[0].ID.String()+"/redrive", nil), "/messages?tab=dead")
	handlertest.WantRedirect(t, d.Post("/messages/dead/"+list[1].ID.String()+"/discard", nil), "/messages?tab=dead")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/messages?tab=dead"), http.StatusOK), "#dead-panel", "No dead letters")
	in, err := d.Bus.Read(t.Context(), ada, bus.Query{Limit: 10, Wait: bus.MaxWait})
	if err != nil || len(in.Messages) != 1 || in.Messages[0].ID != list[0].ID {
		t.Errorf("ada got %+v, %v", in.Messages, err)
	}
	for _, id := range []string{list[1].ID.String(), ids.New().String(), "x"} {
		handlertest.WantStatus(t, d.Post("/messages/dead/"+id+"/discard", nil), http.StatusNotFound)
	}
	handlertest.WantStatus(t, d.As(tenancy.RoleMember).Post("/messages/dead/"+list[0].ID.String()+"/redrive", nil), http.StatusForbidden)
}

// A large text is sent like any other; the thread leads to it and says its size. Where the
// workspace has no space for it that stands at the field.
func TestALargeTextIsSent(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("ada")
	text := strings.Repeat("large ", 3000)
	form := url.Values{"to": {"agent"}, "name": {"ada"}, "text": {text}, "thread": {"long"}}
	handlertest.WantRedirect(t, d.Post("/messages/send", form), "/messages?thread=long")
	doc := handlertest.Page(t, d.Get("/messages?thread=long"), http.StatusOK)
	handlertest.WantText(t, doc, "#msg-ol .msg-p", "Download what it says 18 KB")
	content := d.As(tenancy.RoleViewer).Get(doc.Find("#msg-ol .msg-p a").AttrOr("href", ""))
	handlertest.WantStatus(t, content, http.StatusOK)
	if said := content.Body.String(); said != `{"text":"`+text+`"}` {
		t.Errorf("it says %.80s", said)
	}
	handlertest.WantStatus(t, d.Get("/blobs/none"), http.StatusNotFound)
	dbfactory.Exec(t, d.DB, `UPDATE blob_room SET bytes = $1`, blobs.DefaultMaxTotal)
	form.Set("text", strings.Repeat("other ", 3000))
	doc = handlertest.Page(t, d.Post("/messages/send", form), http.StatusConflict)
	handlertest.WantText(t, doc, "#text-e", "no room")
}
