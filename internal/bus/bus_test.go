package bus_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// post is a workspace with a bus.
type post struct {
	*dispatchtest.Fixture

	bus *bus.Service
}

func newPost(t *testing.T) *post {
	t.Helper()
	p := &post{Fixture: dispatchtest.New(t)}
	p.start(nil)
	return p
}

// start begins a bus whose messages name blobs of contents, in place of the one before.
func (p *post) start(contents bus.Blobs) {
	p.bus = bus.NewService(p.DB, p.Wake, p.Jobs.Secrets, contents, nil)
	p.T.Cleanup(p.bus.Close)
}

// as returns an agent with roles.
func (p *post) as(name string, roles ...string) tenancy.Principal {
	p.T.Helper()
	agent := p.Agent(name)
	dbfactory.Exec(p.T, p.DB, `UPDATE agent SET roles = $1 WHERE name = $2`, append([]string{}, roles...), name)
	return agent
}

// member returns a person of the workspace.
func (p *post) member(role tenancy.Role) tenancy.Principal {
	p.T.Helper()
	who := dbfactory.Person(p.Workspace, role)
	who.Account = dbfactory.NewMember(p.T, p.DB, p.Workspace, role)
	who.Name = dbfactory.Text(p.T, p.DB, `SELECT name FROM account WHERE id = $1`, who.Account)
	return who
}

func agent(name string) bus.Address { return bus.Address{Kind: bus.ToAgent, Name: name} }
func role(name string) bus.Address  { return bus.Address{Kind: bus.ToRole, Name: name} }
func person(who tenancy.Principal) bus.Address {
	return bus.Address{Kind: bus.ToPerson, Name: who.Account.String()}
}

// note returns a message with a text.
func note(to bus.Address, text string) bus.Draft {
	said, _ := json.Marshal(map[string]string{"text": text})
	return bus.Draft{Type: "custom.note", To: to, Payload: said}
}

func (p *post) send(from tenancy.Principal, list ...bus.Draft) []bus.Sent {
	p.T.Helper()
	sent, err := p.bus.Publish(p.Ctx, from, list...)
	if err != nil {
		p.T.Fatal(err)
	}
	return sent
}

func (p *post) read(who tenancy.Principal, in bus.Query) bus.Inbox {
	p.T.Helper()
	if in.Limit == 0 {
		in.Limit = bus.MaxRead
	}
	// What was sent is seen once older transactions of other tests have ended.
	if in.Wait == 0 {
		in.Wait = bus.MaxWait
	}
	got, err := p.bus.Read(p.Ctx, who, in)
	if err != nil {
		p.T.Fatal(err)
	}
	return got
}

// empty wants nothing in an inbox, although everything that was sent can be seen.
func (p *post) empty(who tenancy.Principal) {
	p.T.Helper()
	mark := p.send(p.Owner, note(agent(who.Name), "mark"))[0]
	got := p.read(who, bus.Query{})
	if diff := cmp.Diff([]string{"mark"}, texts(got.Messages)); diff != "" {
		p.T.Errorf("in the inbox of %s (-want +got):\n%s", who.Name, diff)
	}
	if _, err := p.bus.Ack(p.Ctx, who, []int64{mark.Seq}); err != nil {
		p.T.Fatal(err)
	}
}

func texts(list []bus.Message) (out []string) {
	for _, m := range list {
		var said struct{ Text string }
		_ = json.Unmarshal(m.Payload, &said)
		out = append(out, said.Text)
	}
	return out
}

// What is sent is handed out in its order, again and again until it is acknowledged, and
// then no more.
func TestMessagesAreHandedOutUntilTheyAreAcknowledged(t *testing.T) {
	p := newPost(t)
	ada, bob := p.as("ada"), p.as("bob")
	p.send(bob, note(agent("ada"), "one"), note(agent("ada"), "two"))
	p.send(bob, note(agent("ada"), "three"), note(agent("bob"), "not hers"))
	var got bus.Inbox
	for n := 1; n <= 2; n++ {
		got = bus.Inbox{}
		for len(got.Messages) < 3 {
			part := p.read(ada, bus.Query{After: got.Next})
			got.Messages, got.Next = append(got.Messages, part.Messages...), part.Next
		}
		if diff := cmp.Diff([]string{"one", "two", "three"}, texts(got.Messages)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		for _, m := range got.Messages {
			if m.Deliveries != n || m.From.Name != "bob" || m.To.Name != "ada" {
				t.Errorf("%+v; want delivery %d from bob to ada", m, n)
			}
		}
	}
	if n, err := p.bus.AckUpTo(p.Ctx, ada, got.Messages[1].Seq); err != nil || n != 2 {
		t.Fatalf("%d acknowledged, %v; want 2", n, err)
	}
	if left := p.read(ada, bus.Query{}); cmp.Diff([]string{"three"}, texts(left.Messages)) != "" {
		t.Errorf("left %v", texts(left.Messages))
	}
	if n, err := p.bus.AckUpTo(p.Ctx, ada, got.Messages[0].Seq); err != nil || n != 0 {
		t.Errorf("an older position acknowledged %d, %v", n, err)
	}
	if n, err := p.bus.Ack(p.Ctx, ada, []int64{got.Messages[2].Seq, got.Messages[2].Seq, 7}); err != nil || n != 1 {
		t.Errorf("%d acknowledged, %v; want 1", n, err)
	}
	p.empty(ada)
}

// The same id again is the same message; another message under it is refused.
func TestAMessageIsSentOnce(t *testing.T) {
	p := newPost(t)
	ada := p.as("ada")
	one := note(agent("ada"), "one")
	one.ID = ids.New()
	first, again := p.send(p.Owner, one)[0], p.send(p.Owner, one)[0]
	if !first.New || again.New || first.Seq != again.Seq {
		t.Errorf("first %+v, again %+v", first, again)
	}
	other := note(agent("ada"), "other")
	other.ID = one.ID
	if _, err := p.bus.Publish(p.Ctx, p.Owner, other); !fault.Is(err, fault.IdempotencyKeyReused) {
		t.Error(err)
	}
	if got := p.read(ada, bus.Query{}); len(got.Messages) != 1 {
		t.Errorf("%d messages; want 1", len(got.Messages))
	}
}

// Of a role each message goes to one of its agents, of a factory to one of its own; what
// is for all goes to each that lives.
func TestWhoeverSharesAnInboxGetsAPart(t *testing.T) {
	p := newPost(t)
	ada, bob, eve := p.as("ada", "reviewer"), p.as("bob", "reviewer"), p.as("eve", "worker")
	p.send(p.Owner, note(role("reviewer"), "1"), note(role("reviewer"), "2"))
	a := p.read(ada, bus.Query{Limit: 1})
	b := p.read(bob, bus.Query{})
	if diff := cmp.Diff([]string{"1", "2"}, append(texts(a.Messages), texts(b.Messages)...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := p.bus.Ack(p.Ctx, bob, []int64{a.Messages[0].Seq}); err != nil {
		t.Fatal(err)
	}
	if again := p.read(ada, bus.Query{}); len(again.Messages) != 1 {
		t.Error("bob acknowledged what ada has")
	}
	p.empty(eve)
	dbfactory.Exec(t, p.DB, `UPDATE agent SET last_heartbeat_at = now() - interval '1 day' WHERE name = 'bob'`)
	p.send(p.Owner, note(bus.Address{Kind: bus.ToAll}, "all"))
	if got := p.read(eve, bus.Query{}); cmp.Diff([]string{"all"}, texts(got.Messages)) != "" {
		t.Errorf("eve got %v", texts(got.Messages))
	}
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM message_delivery d JOIN message m USING (workspace_id, seq) WHERE m.to_kind = 'all'`); n != 2 {
		t.Errorf("%d inboxes have what is for all; want those of the two that live", n)
	}
}

// A reader that died gives up what it had of a shared inbox: another one gets it, also one
// that has read further on.
func TestADeadReadersMessagesGoToAnother(t *testing.T) {
	p := newPost(t)
	ada, bob := p.as("ada", "reviewer"), p.as("bob", "reviewer")
	p.send(p.Owner, note(role("reviewer"), "1"))
	p.read(ada, bus.Query{})
	p.send(p.Owner, note(agent("bob"), "2"))
	at := p.read(bob, bus.Query{})
	dbfactory.Exec(t, p.DB, `UPDATE message_delivery SET taken_until = now() WHERE reader_id IS NOT NULL`)
	got := p.read(bob, bus.Query{After: at.Next})
	if diff := cmp.Diff([]string{"1"}, texts(got.Messages)); diff != "" || got.Messages[0].Deliveries != 2 || got.Next != at.Next {
		t.Errorf("%+v (-want +got):\n%s", got, diff)
	}
	if n, err := p.bus.AckUpTo(p.Ctx, ada, at.Next); err != nil || n != 0 {
		t.Errorf("the dead reader acknowledged %d, %v", n, err)
	}
}

// What cannot be processed comes again later, however far its reader has read; the fifth
// delivery is the last, and then people see it.
func TestAMessageThatFailsBecomesADeadLetter(t *testing.T) {
	p := newPost(t)
	ada := p.as("ada")
	bad := p.send(p.Owner, note(agent("ada"), "bad"), note(agent("ada"), "good"))[0]
	at := p.read(ada, bus.Query{})
	for n := 1; n <= bus.MaxDeliveries; n++ {
		dead, err := p.bus.Nack(p.Ctx, ada, bad.Seq, "no parser", time.Millisecond)
		if err != nil || dead != (n == bus.MaxDeliveries) {
			t.Fatalf("delivery %d: dead %t, %v", n, dead, err)
		}
		if acked, err := p.bus.AckUpTo(p.Ctx, ada, at.Next); err != nil || n > 1 && acked != 0 {
			t.Fatalf("acknowledged %d, %v: what was put off must stay", acked, err)
		}
		if !dead {
			got := p.read(ada, bus.Query{After: at.Next})
			if len(got.Messages) != 1 || got.Messages[0].Deliveries != n+1 {
				t.Fatalf("got %+v; want the bad one, delivery %d", got.Messages, n+1)
			}
		}
	}
	p.empty(ada)
	dead, err := p.bus.DeadLetters(p.Ctx, p.Owner, 0, 10)
	if err != nil || len(dead) != 1 || dead[0].ID != bad.ID || dead[0].Error != "no parser" {
		t.Fatalf("dead letters %+v, %v", dead, err)
	}
	if err := p.bus.Redrive(p.Ctx, p.Owner, bad.ID, nil); err != nil {
		t.Fatal(err)
	}
	if got := p.read(ada, bus.Query{After: at.Next}); len(got.Messages) != 1 || got.Messages[0].Deliveries != 1 {
		t.Errorf("after the redrive: %+v", got.Messages)
	}
	for _, err := range []error{p.bus.Redrive(p.Ctx, p.Owner, bad.ID, nil), p.bus.Discard(p.Ctx, p.Owner, bad.ID, nil)} {
		if !fault.Is(err, fault.NotFound) {
			t.Error(err)
		}
	}
	if err := p.bus.Discard(p.Ctx, ada, bad.ID, nil); !fault.Is(err, fault.Forbidden) {
		t.Errorf("an agent discards dead letters: %v", err)
	}
}

// A reader that takes messages and never acknowledges them is not fed for ever.
func TestAMessageIsHandedOutFiveTimes(t *testing.T) {
	p := newPost(t)
	ada := p.as("ada")
	p.send(p.Owner, note(agent("ada"), "poison"))
	for n := 1; n <= bus.MaxDeliveries; n++ {
		if got := p.read(ada, bus.Query{}); len(got.Messages) != 1 || got.Messages[0].Deliveries != n {
			t.Fatalf("reading %d: %+v", n, got.Messages)
		}
		p.read(ada, bus.Query{Peek: true})
	}
	p.empty(ada)
	dead, err := p.bus.DeadLetters(p.Ctx, p.Owner, 0, 10)
	if err != nil || len(dead) != 1 || !strings.Contains(dead[0].Error, "5 times") {
		t.Errorf("dead letters %+v, %v", dead, err)
	}
}

// Who may write to whom: docs/concepts.md has the same table.
func TestWhoMayWriteToWhom(t *testing.T) {
	p := newPost(t)
	ada, boss := p.as("ada", "worker"), p.as("boss", "orchestrator")
	owner, member, viewer := p.member(tenancy.RoleOwner), p.member(tenancy.RoleMember), p.member(tenancy.RoleViewer)
	p.Agent("far", func(r *fleetRegistration) { r.Factory.Name = "far-factory" })
	to := map[string]bus.Address{"agent": agent("ada"), "role": role("worker"), "own factory": {Kind: bus.ToFactory, Name: ada.Factory},
		"another factory": {Kind: bus.ToFactory, Name: "far-factory"}, "person": person(owner), "all": {Kind: bus.ToAll}}
	for _, c := range []struct {
		from tenancy.Principal
		may  string
	}{
		{ada, "agent role own_factory person"},
		{boss, "agent role own_factory another_factory person all"},
		{owner, "agent role own_factory another_factory person all"},
		{member, "agent role own_factory another_factory person"},
		{viewer, ""},
	} {
		for what, address := range to {
			_, err := p.bus.Publish(p.Ctx, c.from, note(address, "hello"))
			may := strings.Contains(" "+c.may+" ", " "+strings.ReplaceAll(what, " ", "_")+" ")
			if may && err != nil || !may && !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s to %s: %v; want allowed %t", c.from.Name, what, err, may)
			}
		}
	}
}

// Who may say which type: docs/concepts.md has the same table.
func TestWhoMaySayWhat(t *testing.T) {
	p := newPost(t)
	ada, boss, judge := p.as("ada", "worker"), p.as("boss", "orchestrator"), p.as("judge", "reviewer")
	server := tenancy.System(p.Workspace, "fleetboard")
	const all, closed, none = "all", "server", "none"
	for kind, may := range map[string]string{
		bus.TaskAssign: all, bus.TaskClaim: all, bus.TaskProgress: all, bus.TaskDone: all, bus.TaskFailed: all, bus.TaskBlocked: all,
		bus.Heartbeat: all, bus.ReviewRequest: all, "custom.x": all, "custom.system.stop": all, "custom.lease_1-2": all,
		bus.StateChange: closed, bus.ReviewResult: closed, bus.AgentStarted: closed, bus.AgentStopped: closed,
		"system.stop": closed, "system.a.b": closed, "lease.revoked": closed, "lease.x": closed,
		"": none, "gossip": none, "custom.": none, "system.": none, "lease.": none, "system": none, "System.stop": none,
		"LEASE.x": none, " review_result": none, "review_result ": none, "custom.system/stop": none,
	} {
		for _, who := range []tenancy.Principal{ada, boss, judge, p.Owner, server} {
			_, err := p.bus.Publish(p.Ctx, who, bus.Draft{Type: kind, To: role("worker")})
			switch {
			case may == none && !fault.Is(err, fault.Validation):
				t.Errorf("%s says %q: %v; want it to be unknown", who.Name, kind, err)
			case may == closed && who.Kind != tenancy.KindSystem && !fault.Is(err, fault.Forbidden):
				t.Errorf("%s says %q: %v; want it to be the server's", who.Name, kind, err)
			case (may == all || may == closed && who.Kind == tenancy.KindSystem) && err != nil:
				t.Errorf("%s says %q: %v", who.Name, kind, err)
			}
		}
	}
}

// Whoever reads a message about a job is within its token's scope.
func TestAMessageAboutAJobStaysWithinTheScopeOfTokens(t *testing.T) {
	p := newPost(t)
	p.Product("secret-product", jobs.ProductSettings{})
	job := p.Job("hidden", dispatchtest.InProduct("secret-product"))
	other := p.as("other", "reviewer")
	dbfactory.Exec(t, p.DB, `UPDATE agent SET products = '{default}' WHERE name = 'other'`)
	about := note(role("reviewer"), "about it")
	about.Job = job.Key
	direct := note(agent("other"), "directly")
	direct.Job = job.Key
	p.send(p.Owner, about, direct)
	p.empty(other)
	full := p.as("full", "reviewer")
	if got := p.read(full, bus.Query{}); cmp.Diff([]string{"about it"}, texts(got.Messages)) != "" {
		t.Errorf("who may read it got %v", texts(got.Messages))
	}
	other.Scope.Products = []string{"default"}
	if _, err := p.bus.Publish(p.Ctx, other, about); !fault.Is(err, fault.Forbidden) {
		t.Errorf("it wrote about the job: %v", err)
	}
	for what, list := range map[string]func() ([]bus.Message, error){
		"thread": func() ([]bus.Message, error) { return p.bus.Thread(p.Ctx, other, job.Key, 0, 10) },
		"page":   func() ([]bus.Message, error) { return p.bus.Page(p.Ctx, other, bus.Filter{}, 0, 10) },
	} {
		got, err := list()
		for _, m := range got {
			if err != nil || m.JobKey == job.Key {
				t.Errorf("%s: %v, %v", what, texts(got), err)
			}
		}
	}
}

// The values of a job's secrets do not leave by messages of the agent that holds them.
func TestSecretsAreTakenOutOfMessages(t *testing.T) {
	p := newPost(t)
	ada := p.as("ada")
	p.Job("deploy", func(n *jobs.New) {
		n.InputContext, n.SecretKeys = []byte(`{"token":"hunter2-hunter2"}`), []string{"token"}
	})
	p.Claim(ada)
	sent := p.send(ada, note(agent("ada"), "it is hunter2-hunter2"))[0]
	if strings.Contains(string(sent.Payload), "hunter2") {
		t.Errorf("sent %s", sent.Payload)
	}
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM message WHERE payload::text LIKE '%hunter2%'`); n != 0 {
		t.Error("the value is stored")
	}
}

// Messages are found by words, phrases and beginnings of words, with the passage marked.
func TestMessagesAreFoundByTheirWords(t *testing.T) {
	p := newPost(t)
	p.as("ada")
	p.send(p.Owner, note(agent("ada"), "the quick brown fox"), note(agent("ada"), "brown, quick: a dog"), note(agent("ada"), "naïve Straße"))
	jobstest.IndexMessages(t, p.DB)
	for words, want := range map[string][]string{
		"quick brown":     {"brown, quick: a dog", "the quick brown fox"},
		`"quick brown"`:   {"the quick brown fox"},
		"qui":             {"brown, quick: a dog", "the quick brown fox"},
		"fox' | !dog & (": nil,
		"straße":          {"naïve Straße"},
		"nothing":         nil,
	} {
		found, err := p.bus.Search(p.Ctx, p.Owner, words, bus.Filter{}, 10)
		var got []string
		for _, f := range found {
			got = append(got, texts([]bus.Message{f.Message})...)
			if !strings.Contains(f.Passage, fulltext.MarkBegin) {
				t.Errorf("%q: no mark in %q", words, f.Passage)
			}
		}
		if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", words, err, diff)
		}
	}
	if _, err := p.bus.Search(p.Ctx, p.Owner, " -\"", bus.Filter{}, 10); !fault.Is(err, fault.Validation) {
		t.Error(err)
	}
	stranger := dbfactory.Person(dbfactory.Workspace(t, p.DB), tenancy.RoleOwner)
	if found, err := p.bus.Search(p.Ctx, stranger, "quick", bus.Filter{}, 10); err != nil || len(found) > 0 {
		t.Errorf("another workspace found %v, %v", found, err)
	}
}

// A payload that is a blob is named by the message: it stays as long, and whoever has the
// message reads it, also an agent.
func TestAMessageNamesABlob(t *testing.T) {
	p := newPost(t)
	contents := p.withBlobs(blobs.Options{})
	ada, eve := p.as("ada"), p.as("eve")
	stored, _, err := contents.Put(p.Ctx, p.Owner, strings.NewReader("a long story"))
	if err != nil {
		t.Fatal(err)
	}
	sent := p.send(p.Owner, bus.Draft{Type: "custom.story", To: agent("ada"), Blob: stored.Sum.String()})[0]
	if got := p.read(ada, bus.Query{}); len(got.Messages) != 1 || got.Messages[0].Blob != stored.Sum.String() || got.Messages[0].ID != sent.ID {
		t.Errorf("got %+v", got.Messages)
	}
	if _, err := contents.Open(p.Ctx, ada, stored.Sum); err != nil {
		t.Error(err)
	}
	if _, err := contents.Open(p.Ctx, eve, stored.Sum); !fault.Is(err, fault.NotFound) {
		t.Errorf("eve, who has no such message: %v", err)
	}
	_, err = p.bus.Publish(p.Ctx, eve, bus.Draft{Type: "custom.story", To: agent("eve"), Blob: stored.Sum.String()})
	if !fault.Is(err, fault.Validation) {
		t.Errorf("eve names what she may not read: %v", err)
	}
}
