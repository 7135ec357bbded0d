package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// hear reads an inbox until so many messages are there, and gives their texts.
func (w *apiServer) hear(token string, n int) (texts []string, last int64) {
	w.t.Helper()
	for after := int64(0); len(texts) < n; {
		page := w.as(token, "GET", fmt.Sprintf("/messages?wait_seconds=50&after=%d", after), nil).want(200)
		for i := range page.count("items") {
			texts = append(texts, page.text("items", i, "payload", "text"))
		}
		after = page.number("next_after")
		last = after
	}
	return texts, last
}

// A message is sent, received, answered in its thread, found and acknowledged.
func TestAgentsTalk(t *testing.T) {
	w := newAPIServer(t)
	ada, bob := w.agent("ada"), w.agent("bob")
	id := ids.New().String()
	said := object{"id": id, "type": "custom.question", "to": object{"agent": "bob"}, "payload": object{"text": "which parser?"}}
	sent := w.as(ada, "POST", "/messages", said).want(201)
	if again := w.as(ada, "POST", "/messages", said).want(200); again.number("seq") != sent.number("seq") {
		t.Errorf("again %v, first %v", again, sent)
	}
	w.as(ada, "POST", "/messages", object{"id": id, "type": "custom.other", "to": object{"agent": "bob"}}).want(422).
		refused(fault.IdempotencyKeyReused)
	heard, last := w.hear(bob, 1)
	if heard[0] != "which parser?" {
		t.Errorf("heard %v", heard)
	}
	answers := w.as(bob, "POST", "/messages/batch", object{"messages": []object{
		{"type": "custom.answer", "to": object{"agent": "ada"}, "in_reply_to": id, "payload": object{"text": "the second one"}},
		{"type": "custom.note", "to": object{"role": "worker"}, "correlation_id": id, "payload": object{"text": "asked by ada"}}}}).want(200)
	if answers.count("items") != 2 {
		t.Errorf("sent %v", answers)
	}
	thread := w.as(ada, "GET", "/messages/threads/"+id, nil).want(200)
	if thread.count("items") != 3 || thread.text("items", 1, "from", "name") != "bob" {
		t.Errorf("thread %v", thread)
	}
	jobstest.IndexMessages(t, w.db)
	found := w.as(w.owner, "GET", "/messages/search?q=pars&from=ada", nil).want(200)
	if found.count("items") != 1 || !strings.Contains(found.text("items", 0, "passage"), "\x02parser\x03") {
		t.Errorf("found %v", found)
	}
	if w.as(bob, "GET", "/messages/"+id, nil).want(200).text("type") != "custom.question" {
		t.Error("the message reads otherwise")
	}
	if n := w.as(bob, "POST", "/messages/ack", object{"seq": last}).want(200).number("acked"); n != 1 {
		t.Errorf("%d acknowledged", n)
	}
	w.as(bob, "POST", "/messages/ack", object{}).want(422).refused(fault.Validation, "seq")
	if n := w.as(bob, "POST", "/messages/ack", object{"seqs": []int64{last}}).want(200).number("acked"); n != 0 {
		t.Errorf("%d acknowledged twice", n)
	}
}

func TestWhatIsWrongWithAMessageIsNamed(t *testing.T) {
	w := newAPIServer(t)
	ada := w.agent("ada")
	to := object{"agent": "ada"}
	for field, body := range map[string]object{
		"type":        {"type": "gossip", "to": to},
		"to":          {"type": "custom.x", "to": object{"agent": "ada", "all": true}},
		"to.agent":    {"type": "custom.x", "to": object{"agent": "nobody"}},
		"to.role":     {"type": "custom.x", "to": object{"role": "king"}},
		"to.factory":  {"type": "custom.x", "to": object{"factory": "nowhere"}},
		"to.person":   {"type": "custom.x", "to": object{"person": "nobody@example.org"}},
		"id":          {"type": "custom.x", "to": to, "id": strings.Repeat("x", 36)},
		"in_reply_to": {"type": "custom.x", "to": to, "in_reply_to": ids.New().String()},
		"job":         {"type": "custom.x", "to": to, "job": "FB-99"},
		"blob":        {"type": "custom.x", "to": to, "blob": strings.Repeat("x", 64)},
		"expires_at":  {"type": "custom.x", "to": to, "expires_at": "2020-01-02T03:04:05Z"},
	} {
		w.as(ada, "POST", "/messages", body).want(422).refused(fault.Validation, field)
	}
	w.as(ada, "POST", "/messages/batch", object{"messages": []object{{"type": "custom.x", "to": to}, {"type": "gossip", "to": to}}}).want(422).
		refused(fault.Validation, "messages[1].type")
	w.as(ada, "GET", "/messages/nothing", nil).want(404).refused(fault.NotFound)
	w.as(ada, "POST", "/messages", object{"type": "custom.x", "to": object{"all": true}}).want(403).refused(fault.Forbidden)
}

// What cannot be processed becomes a dead letter, which people hand out again or remove.
func TestDeadLettersAreDealtWith(t *testing.T) {
	w := newAPIServer(t)
	ada := w.agent("ada")
	id := ids.New().String()
	w.as(w.owner, "POST", "/messages", object{"id": id, "type": "custom.x", "to": object{"agent": "ada"}, "payload": object{"text": "poison"}}).want(201)
	_, last := w.hear(ada, 1)
	w.as(ada, "POST", "/messages/nack", object{"seq": 7}).want(404).refused(fault.NotFound)
	dbfactory.Exec(t, w.db, "UPDATE message_delivery SET deliveries = 5")
	if w.as(ada, "POST", "/messages/nack", object{"seq": last, "error": "no parser"}).want(200).at("dead") != true {
		t.Error("it is not dead")
	}
	dead := w.as(w.owner, "GET", "/messages/dead", nil).want(200)
	if dead.count("items") != 1 || dead.text("items", 0, "error") != "no parser" || dead.text("items", 0, "message", "id") != id {
		t.Errorf("dead letters %v", dead)
	}
	w.as(w.owner, "POST", "/messages/dead/"+id+"/redrive", nil).want(204)
	w.as(w.owner, "POST", "/messages/dead/"+id+"/discard", nil).want(404).refused(fault.NotFound)
	w.hear(ada, 1)
	dbfactory.Exec(t, w.db, "UPDATE message_delivery SET dead_at = now()")
	w.as(w.owner, "POST", "/messages/dead/"+id+"/discard", nil).want(204)
}

// An export goes on from the position that was acknowledged last.
func TestAnExportKeepsItsPosition(t *testing.T) {
	w := newAPIServer(t)
	ada := w.agent("ada")
	for i := range 3 {
		w.as(w.owner, "POST", "/messages", object{"type": "custom.x", "to": object{"agent": "ada"}, "payload": object{"text": fmt.Sprint(i)}}).want(201)
	}
	w.hear(ada, 3)
	w.as(w.owner, "POST", "/exports", object{"name": "disk", "source": "messages"}).want(200)
	w.as(w.owner, "POST", "/exports", object{"name": "disk", "source": "events"}).want(409).refused(fault.AlreadyExists)
	first := w.as(w.owner, "GET", "/exports/disk/next?limit=2", nil).want(200)
	if first.count("items") != 2 || first.text("items", 1, "message", "payload", "text") != "1" {
		t.Errorf("first %v", first)
	}
	ahead := w.as(w.owner, "GET", "/exports/disk/next?after="+first.text("position"), nil).want(200)
	if ahead.count("items") != 1 || ahead.text("items", 0, "message", "payload", "text") != "2" {
		t.Errorf("ahead %v", ahead)
	}
	place := func(query, want string) {
		t.Helper()
		if page := w.as(w.owner, "GET", "/exports/disk/next"+query, nil).want(200); page.count("items") != 0 || page.text("position") != want {
			t.Errorf("after all %s: %v; want the place %s", query, page, want)
		}
	}
	place("?after="+ahead.text("position"), ahead.text("position"))
	w.as(w.owner, "POST", "/exports/disk/ack", object{"position": first.text("position")}).want(200)
	back := w.as(w.owner, "POST", "/exports/disk/ack", object{"position": "1"}).want(200)
	if back.text("position") != first.text("position") {
		t.Errorf("it went back to %v", back)
	}
	w.as(w.owner, "POST", "/exports/disk/ack", object{"position": ahead.text("position")}).want(200)
	place("", ahead.text("position"))
	place("?after="+first.text("position"), ahead.text("position"))
	w.as(w.owner, "POST", "/exports/disk/ack", object{"position": "here"}).want(422).refused(fault.Validation, "position")
	w.as(w.owner, "POST", "/exports", object{"name": "log", "source": "events"}).want(200)
	if log := w.as(w.owner, "GET", "/exports/log/next?limit=1", nil).want(200); log.count("items") != 1 || log.text("items", 0, "event", "type") == "" {
		t.Errorf("log %v", log)
	}
	if n := w.as(w.owner, "GET", "/exports", nil).want(200).count("items"); n != 2 {
		t.Errorf("%d exports", n)
	}
	w.as(w.owner, "GET", "/exports/other/next", nil).want(404).refused(fault.NotFound)
	w.as(ada, "GET", "/exports", nil).want(403).refused(fault.Forbidden)
}

// A reader that stays is sent each message as it comes, with its position.
func TestAnInboxIsStreamed(t *testing.T) {
	w := newAPIServer(t)
	ada := w.agent("ada")
	ctx, leave := context.WithTimeout(t.Context(), 2*time.Minute)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+api.BasePath+"/messages", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+ada)
	r.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	sent := w.as(w.owner, "POST", "/messages", object{"type": "custom.x", "to": object{"agent": "ada"}, "payload": object{"text": "live"}}).want(201)
	var got []string
	for lines := bufio.NewScanner(response.Body); lines.Scan() && len(got) < 3; {
		if line := lines.Text(); line != "" && line != ":" && !strings.HasPrefix(line, "retry") {
			got = append(got, line)
		}
	}
	if len(got) < 3 || got[0] != fmt.Sprintf("id: %d", sent.number("seq")) || got[1] != "event: custom.x" || !strings.Contains(got[2], `"live"`) {
		t.Errorf("streamed %q", got)
	}
}

// An agent has the roles that its enrolment token allows.
func TestRolesAreThoseOfTheToken(t *testing.T) {
	w := newAPIServer(t)
	factory := object{"boot_id": "b", "factory": object{"name": "host", "seats": 1}}
	plain := w.as(w.enrolment, "PUT", "/agents/ada", factory).want(200)
	if roles := fmt.Sprint(plain.at("agent", "roles")); roles != "[worker]" {
		t.Errorf("roles %s", roles)
	}
	boss := merge(factory, object{"roles": []string{"worker", "orchestrator"}})
	w.as(w.enrolment, "PUT", "/agents/boss", boss).want(403).refused(fault.Forbidden)
	w.as(w.enrolment, "PUT", "/agents/boss", merge(factory, object{"roles": []string{"king"}})).want(422).refused(fault.Validation, "roles[0]")
	dbfactory.Exec(t, w.db, "UPDATE access_token SET roles = '{worker,orchestrator}'")
	if roles := fmt.Sprint(w.as(w.enrolment, "PUT", "/agents/boss", boss).want(200).at("agent", "roles")); roles != "[worker orchestrator]" {
		t.Errorf("roles %s", roles)
	}
}

// A payload that is larger than a message carries is kept as a blob, which the receiver
// reads; the same message again is answered with it. Where there is no space for it, that is
// said at the payload.
func TestALargePayloadIsReadAsABlob(t *testing.T) {
	w := newAPIServer(t)
	ada, bob, eve := w.agent("ada"), w.agent("bob"), w.agent("eve")
	text := strings.Repeat("word ", 20<<10)
	said := object{"id": ids.New().String(), "type": "custom.report", "to": object{"agent": "bob"}, "payload": object{"text": text}}
	sent := w.as(ada, "POST", "/messages", said).want(201)
	if sent.at("payload") != nil || sent.text("blob") == "" {
		t.Fatalf("sent %s", sent.raw)
	}
	inbox := w.as(bob, "GET", "/messages?wait_seconds=50", nil).want(200)
	blob := inbox.text("items", 0, "blob")
	content := w.as(bob, "GET", "/blobs/"+blob, nil).want(200)
	if want := `{"text":"` + text + `"}`; string(content.raw) != want || inbox.at("items", 0, "payload") != nil {
		t.Errorf("bob reads %d bytes, want %d", len(content.raw), len(want))
	}
	w.as(eve, "GET", "/blobs/"+blob, nil).want(404).refused(fault.NotFound)
	dbfactory.Exec(t, w.db, "UPDATE blob_room SET bytes = $1", maxBlobs)
	if again := w.as(ada, "POST", "/messages", said).want(200); again.text("blob") != blob {
		t.Errorf("again %s", again.raw)
	}
	other := merge(said, object{"id": ids.New().String(), "payload": object{"text": text + "!"}})
	w.as(ada, "POST", "/messages", other).want(409).refused(fault.StorageFull, "payload")
	w.as(ada, "POST", "/messages/batch", object{"messages": []object{{"type": "custom.x", "to": object{"agent": "bob"}}, other}}).want(409).
		refused(fault.StorageFull, "messages[1].payload")
}

// What was dropped is listed for those who run the fleet, and reads as the messages did.
func TestArchivesAreListed(t *testing.T) {
	w := newAPIServer(t)
	ada := w.agent("ada")
	id := w.as(w.owner, "POST", "/messages", object{"type": "custom.x", "to": object{"agent": "ada"}, "payload": object{"text": "<old>"}}).want(201).text("id")
	was := w.as(w.owner, "GET", "/messages/"+id, nil).want(200)
	dbfactory.Exec(t, w.db, "DELETE FROM message_delivery")
	dbfactory.Exec(t, w.db, "UPDATE message SET at = at - interval '91 days'")
	if _, err := w.bus.DropOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.as(w.owner, "GET", "/messages/"+id, nil).want(404).refused(fault.NotFound)
	w.as(ada, "GET", "/messages/archives", nil).want(403).refused(fault.Forbidden)
	list := w.as(w.owner, "GET", "/messages/archives", nil).want(200)
	if list.count("items") != 1 || list.number("items", 0, "messages") != 1 || list.number("items", 0, "last_seq") != was.number("seq") {
		t.Fatalf("archives %s", list.raw)
	}
	if n := w.as(w.owner, "GET", fmt.Sprintf("/messages/archives?before=%d", was.number("seq")), nil).want(200).count("items"); n != 0 {
		t.Errorf("%d archives before the first", n)
	}
	packed := w.as(w.owner, "GET", "/blobs/"+list.text("items", 0, "blob"), nil).want(200)
	plain, err := gzip.NewReader(bytes.NewReader(packed.raw))
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := errors.Join(json.NewDecoder(plain).Decode(&got), json.Unmarshal(was.raw, &want)); err != nil {
		t.Fatal(err)
	}
	delete(got, "at")
	delete(want, "at")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("archived (-want +got):\n%s", diff)
	}
}

// An agent whose token is limited to a product speaks into no other one's threads, says nothing
// that only the server says, and fills its share of an inbox and no more.
func TestMessagesKnowTheirBounds(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for _, name := range []string{"atlas", "vega"} {
		w.as(w.owner, "PUT", "/products/"+name, object{}).want(201)
	}
	hidden := w.job("of vega", object{"product": "vega"})
	plain, err := w.accounts.Tokens.Issue(t.Context(), w.person(), tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "atlas", Products: []string{"atlas"}})
	if err != nil {
		t.Fatal(err)
	}
	ada, bob := w.registerWith(plain, "ada", "boot-1").want(200).text("token"), w.agent("bob")
	said := w.as(bob, "POST", "/messages", object{"type": "custom.x", "to": object{"role": "worker"}, "job": hidden}).want(201).text("id")
	note := object{"type": "custom.x", "to": object{"agent": "bob"}}
	for name, over := range map[string]object{"job": {"job": hidden}, "thread": {"correlation_id": hidden}, "answer": {"in_reply_to": said}} {
		refused := w.as(ada, "POST", "/messages", merge(note, over)).want(403).refused(fault.Forbidden)
		if refused.text("field") == "" {
			t.Errorf("%s: the refusal does not say what it is about: %s", name, refused.raw)
		}
		w.as(ada, "POST", "/messages/batch", object{"messages": []object{note, merge(note, over)}}).want(403).refused(fault.Forbidden)
	}
	w.as(ada, "GET", "/messages/"+said, nil).want(404).refused(fault.NotFound)
	if n := w.as(ada, "GET", "/messages/threads/"+hidden, nil).want(200).count("items"); n != 0 {
		t.Errorf("%d messages of a thread out of reach are read", n)
	}
	for _, kind := range []string{"review_result", "system.stop", "lease.revoked", "state_change"} {
		for _, token := range []string{ada, bob, w.owner} {
			w.as(token, "POST", "/messages", merge(note, object{"type": kind})).want(403).refused(fault.Forbidden)
		}
	}
	list := make([]object, bus.MaxBatch)
	for i := range list {
		list[i] = note
	}
	for range bus.MaxFromOne / bus.MaxBatch {
		w.as(ada, "POST", "/messages/batch", object{"messages": list}).want(200)
	}
	full := w.as(ada, "POST", "/messages", note).want(429).refused(fault.TooMany)
	if full.header.Get("Retry-After") == "" {
		t.Error("it is not told when to try again")
	}
	w.as(w.owner, "POST", "/messages", note).want(201)
}
