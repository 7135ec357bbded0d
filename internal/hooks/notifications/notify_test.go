package notifications_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/notifications"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// handIn has an agent hand in a job that is reviewed.
func (s *space) handIn(title, commit string) jobs.Job {
	s.T.Helper()
	j := s.Job(title, dispatchtest.Reviewed)
	agent := s.Agent("agent-" + j.Key)
	held := s.Claim(agent)
	if _, err := s.Dispatch.Complete(s.Ctx, agent, dispatchtest.Ref(held), report.Completion{Commit: commit}); err != nil {
		s.T.Fatal(err)
	}
	return s.Get(j)
}

// A review is told once, with a link to exactly what was handed in, signed; and again when it is decided.
func TestAReviewIsToldAndSettled(t *testing.T) {
	s := newSpace(t)
	ada := s.hooked(tenancy.RoleMember, "Ada")
	j := s.handIn("Alpha", "9be04d1f00")
	for range 5 {
		s.round()
	}
	got := s.hook.got()
	if len(got) != 1 || len(got[0].Data.Decisions) != 1 {
		t.Fatalf("%d messages: %+v", len(got), got)
	}
	d := got[0].Data.Decisions[0]
	if want := fmt.Sprintf("https://fleet.example.com/review?job=%s&version=%d&head=9be04d1f00", j.Key, j.Version); d.URL != want || d.Kind != "review" || d.State != "open" {
		t.Errorf("it is %+v, want the link %s", d, want)
	}
	set, err := s.notify.Get(s.Ctx, ada)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(set.WebhookSecret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	h := got[0].Header
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", h.Get("webhook-id"), h.Get("webhook-timestamp"), got[0].Raw)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); h.Get("webhook-signature") != want {
		t.Errorf("the signature is %q, want %q", h.Get("webhook-signature"), want)
	}
	s.Act(j, jobs.ByApprove)
	s.round()
	s.round()
	if got = s.hook.got(); len(got) != 2 || got[1].Data.Decisions[0].State != "closed" || got[1].Data.Decisions[0].ID != d.ID ||
		!strings.Contains(got[1].Data.Text, j.Key+" is approved now, by ") {
		t.Errorf("after the decision: %+v", got[len(got)-1].Data)
	}
}

// Ten thousand events of open decisions make one message for each of them at most.
func TestManyEventsMakeAtMostOneMessageADecision(t *testing.T) {
	s := newSpace(t)
	s.hooked(tenancy.RoleOwner, "Ada")
	const decisions, events = 10, 10_000
	var list []jobs.Job
	for i := range decisions {
		list = append(list, s.handIn(fmt.Sprint("Job ", i), fmt.Sprint("c0ffee", i)))
	}
	rounds := 0
	for n := 0; n < events; n += 1000 {
		for i, j := range list {
			dbfactory.Exec(t, s.DB, `INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, actor_id, changes, payload)
				SELECT $1, 'job.edited', $2, 'x', 'system', 'x', '[]', '{}' FROM generate_series(1, 100)`, s.Workspace, j.ID)
			title := fmt.Sprint("Title ", n, i)
			if _, err := s.Jobs.Patch(s.Ctx, s.Owner, j.Key, jobs.Patch{Version: s.Get(j).Version, Spec: jobs.Spec{Title: title},
				Set: []string{"title"}}); err != nil {
				t.Fatal(err)
			}
		}
		s.round()
		rounds++
	}
	told := map[string]int{}
	for _, m := range s.hook.got() {
		for _, d := range m.Data.Decisions {
			told[d.ID]++
		}
	}
	for id, n := range told {
		if n != 1 {
			t.Errorf("%s was told %d times", id, n)
		}
	}
	if len(told) != decisions {
		t.Errorf("%d decisions were told, want %d", len(told), decisions)
	}
	t.Logf("%d events, %d looks, %d decisions, %d messages", s.count(`SELECT count(*) FROM event`), rounds, decisions, len(s.hook.got()))
}

// A process that ends between sending and noting it sends at most once more, under the same name, and
// loses nothing.
func TestAnEndBetweenSendingAndNotingRepeatsAtMostOnce(t *testing.T) {
	s := newSpace(t)
	s.hooked(tenancy.RoleOwner, "Ada")
	ends := 0
	s.notify.Interrupt(notifications.Webhook, func() bool { ends++; return ends == 1 })
	s.handIn("Alpha", "9be04d1f00")
	s.round()
	s.round() // its time to send is not over: nobody else does
	if n := len(s.hook.got()); n != 1 {
		t.Fatalf("%d messages before the lease ended", n)
	}
	dbfactory.Exec(t, s.DB, `UPDATE notification_delivery SET trying_until = now() - interval '1 second'`)
	for range 3 {
		s.round()
	}
	got := s.hook.got()
	if len(got) != 2 {
		t.Fatalf("%d messages, want the first and one repeat", len(got))
	}
	if a, b := got[0].Header.Get("webhook-id"), got[1].Header.Get("webhook-id"); a != b || a == "" {
		t.Errorf("they are called %q and %q", a, b)
	}
	// Ended before it sent, nothing is lost either.
	s.handIn("Beta", "77aa55cc00")
	s.look()
	dbfactory.Exec(t, s.DB, `UPDATE notification_delivery SET trying_until = now() + interval '1 minute', tries = 1 WHERE due_at IS NOT NULL`)
	s.send()
	dbfactory.Exec(t, s.DB, `UPDATE notification_delivery SET trying_until = now() - interval '1 second' WHERE due_at IS NOT NULL`)
	s.round()
	if n := len(s.hook.got()); n != 3 {
		t.Errorf("%d messages", n)
	}
}

// What does not arrive is tried again, more and more slowly, and shown; what is gone is not.
func TestWhatDoesNotArriveIsTriedAgain(t *testing.T) {
	s := newSpace(t)
	ada := s.hooked(tenancy.RoleOwner, "Ada")
	s.hook.respond(503)
	s.handIn("Alpha", "9be04d1f00")
	s.round()
	s.round()
	if n := len(s.hook.got()); n != 1 {
		t.Fatalf("%d tries at once", n)
	}
	all, err := s.notify.Overview(s.Ctx, ada)
	if err != nil || len(all.Channels) != 1 || all.Channels[0].FailingSince == nil || all.Channels[0].Error != "The webhook answered 503." {
		t.Errorf("the page says %+v, %v", all.Channels, err)
	}
	for range 20 {
		dbfactory.Exec(t, s.DB, `UPDATE notification_delivery SET due_at = now() WHERE due_at IS NOT NULL`)
		s.round()
	}
	if n := len(s.hook.got()); n != 10 {
		t.Errorf("%d tries, want 10", n)
	}
	s.hook.respond(200)
	s.handIn("Beta", "77aa55cc00")
	s.round()
	if all, err = s.notify.Overview(s.Ctx, ada); err != nil || all.Channels[0].FailingSince != nil || all.Channels[0].Error != "" {
		t.Errorf("it works again, and the page says %+v, %v", all.Channels, err)
	}
	s.hook.respond(410)
	s.handIn("Gamma", "88aa55cc00")
	before := len(s.hook.got())
	s.round()
	dbfactory.Exec(t, s.DB, `UPDATE notification_delivery SET due_at = now() WHERE due_at IS NOT NULL`)
	s.round()
	if n := len(s.hook.got()) - before; n != 1 {
		t.Errorf("%d tries at an address that is gone", n)
	}
}

// What others write is one line, cut, and does no harm.
func TestWhatAgentsWriteIsOneLine(t *testing.T) {
	s := newSpace(t)
	s.hooked(tenancy.RoleOwner, "Ada")
	agent := s.Agent("claude-1")
	s.Job("Alpha")
	held := s.Claim(agent)
	hostile := "Which?\r\nBcc: eve@example.com\r\n\r\n<script>alert(1)</script>\u202egnp.exe " + strings.Repeat("long ", 500)
	if _, err := s.Dispatch.Ask(s.Ctx, agent, dispatchtest.Ref(held), report.Question{Text: hostile[:1900]}); err != nil {
		t.Fatal(err)
	}
	s.round()
	got := s.hook.got()
	if len(got) != 1 {
		t.Fatalf("%d messages", len(got))
	}
	text := got[0].Data.Text
	if strings.ContainsAny(text, "\r\n\u202e") || len([]rune(text)) > 200 || !strings.HasPrefix(text, held.Key+" asks: Which? Bcc: eve@example.com") {
		t.Errorf("it says %q", text)
	}
}

// Only members are told, by their role, and nobody who has left, was disabled or has switched it off.
func TestOnlyMembersAreTold(t *testing.T) {
	s := newSpace(t)
	s.hooked(tenancy.RoleViewer, "Vi")
	left := s.hooked(tenancy.RoleOwner, "Left")
	off := s.hooked(tenancy.RoleOwner, "Off")
	disabled := s.hooked(tenancy.RoleOwner, "Dis")
	s.handIn("Alpha", "9be04d1f00")
	s.look()
	dbfactory.Exec(t, s.DB, `DELETE FROM membership WHERE account_id = $1`, left.Account)
	dbfactory.Exec(t, s.DB, `UPDATE membership SET disabled_at = now() WHERE account_id = $1`, disabled.Account)
	no := false
	s.save(off, notifications.Change{Channels: &notifications.ViaChange{Webhook: &no}})
	s.round()
	if got := s.hook.got(); len(got) != 0 {
		t.Errorf("%s was told %q", got[0].Path, got[0].Data.Text)
	}
	stranger := newSpace2(s)
	if _, err := s.notify.Get(s.Ctx, stranger); err != nil {
		t.Errorf("a member of another workspace reads the own settings: %v", err)
	}
}

func newSpace2(s *space) tenancy.Principal {
	return dbfactory.Person(dbfactory.Workspace(s.T, s.DB), tenancy.RoleOwner)
}

// What comes in the time of a digest is one message.
func TestADigestIsOneMessage(t *testing.T) {
	s := newSpace(t)
	s.hooked(tenancy.RoleOwner, "Ada", func(c *notifications.Change) { c.DigestMinutes = new(10) })
	for i := range 3 {
		s.handIn(fmt.Sprint("Job ", i), fmt.Sprint("c0ffee", i))
		s.round()
	}
	if n := len(s.hook.got()); n != 0 {
		t.Fatalf("%d messages before its time", n)
	}
	dbfactory.Exec(t, s.DB, `UPDATE notification_delivery SET due_at = now() WHERE due_at IS NOT NULL`)
	s.round()
	if got := s.hook.got(); len(got) != 1 || len(got[0].Data.Decisions) != 3 || got[0].Data.Text != "3 decisions wait for you" {
		t.Errorf("%+v", got)
	}
}

// The next person is told by the own channels, though of another kind than he chose.
func TestTheNextPersonIsTold(t *testing.T) {
	s := newSpace(t)
	no := false
	bob := s.hooked(tenancy.RoleMember, "Bob", func(c *notifications.Change) { c.On = &notifications.OnChange{Review: &no} })
	s.hooked(tenancy.RoleMember, "Ada", func(c *notifications.Change) {
		c.Escalate = &notifications.Escalation{Minutes: 30, To: s.email(bob)}
	})
	j := s.handIn("Alpha", "9be04d1f00")
	s.round()
	if got := s.hook.got(); len(got) != 1 || got[0].Path != "/Ada" {
		t.Fatalf("%+v", got)
	}
	dbfactory.Exec(t, s.DB, `UPDATE notification SET escalate_at = now() - interval '1 second'`)
	if _, err := s.notify.Look(s.Ctx); err != nil { // its log has not moved
		t.Fatal(err)
	}
	s.send()
	got := s.hook.got()
	if len(got) != 2 || got[1].Path != "/Bob" || !strings.Contains(got[1].Data.Decisions[0].Detail, "Ada did not decide in time.") {
		t.Fatalf("%+v", got[len(got)-1])
	}
	if _, err := s.Dispatch.Act(s.Ctx, bob, j.Key, actions.Action{Verb: jobs.ByApprove}); err != nil {
		t.Fatal(err)
	}
	s.round()
	if n := len(s.hook.got()); n != 4 {
		t.Errorf("%d messages after the decision", n)
	}
}

// Settings that make no sense are refused by field, and nothing is saved.
func TestSettingsAreChecked(t *testing.T) {
	s := newSpace(t)
	ada := s.member(tenancy.RoleMember, "Ada")
	text := func(v string) *string { return &v }
	yes := true
	for field, c := range map[string]notifications.Change{
		"quiet_hours.timezone": {QuietHours: &notifications.Quiet{From: "22:00", To: "07:00", Timezone: "Mars/Base"}},
		"quiet_hours.from":     {QuietHours: &notifications.Quiet{From: "25:00", To: "07:00"}},
		"quiet_hours.to":       {QuietHours: &notifications.Quiet{From: "07:00", To: "07:00"}},
		"digest_minutes":       {DigestMinutes: new(1441)},
		"escalate.minutes":     {Escalate: &notifications.Escalation{Minutes: 0, To: "x@example.com"}},
		"escalate.to":          {Escalate: &notifications.Escalation{Minutes: 5, To: s.email(ada)}},
		"webhook_url":          {WebhookURL: text("ftp://example.com/")},
	} {
		_, err := s.notify.Save(s.Ctx, ada, c)
		if f := fault.From(err); f.Code != fault.Validation || f.Fields[field] == "" {
			t.Errorf("%s: %v %v", field, err, f.Fields)
		}
	}
	for _, address := range []string{"https://u:p@example.com/", "https://example.com/#a", "https://", "javascript:alert(1)", "https://exa mple.com", "http://\r\nx"} {
		if _, err := s.notify.Save(s.Ctx, ada, notifications.Change{WebhookURL: text(address)}); !fault.Is(err, fault.Validation) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := s.notify.Save(s.Ctx, ada, notifications.Change{Channels: &notifications.ViaChange{Webhook: &yes}}); !fault.Is(err, fault.Validation) {
		t.Errorf("a webhook without an address: %v", err)
	}
	if n := s.count(`SELECT count(*) FROM notification_setting`); n != 0 {
		t.Errorf("%d rows", n)
	}
	if _, err := s.notify.Save(s.Ctx, s.Agent("claude-1"), notifications.Change{}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("an agent: %v", err)
	}
}

// An address that leads to a private network is refused when it is saved, in the words that webhooks of
// workspaces have; one whose name cannot be looked up now is taken, and looked at again when it is dialled.
func TestPrivateAddressesAreNotSaved(t *testing.T) {
	s := newSpace(t, func(o *app.Options) { o.Webhooks.Allow, o.Webhooks.Resolver = nil, inside{} })
	ada := s.member(tenancy.RoleMember, "Ada")
	for _, address := range []string{"http://127.0.0.1/", "http://2130706433/", "https://localhost:8443/", "https://[::ffff:10.0.0.1]/",
		"https://[64:ff9b::7f00:1]/", "https://intranet.example.com/me"} {
		_, err := s.notify.Save(s.Ctx, ada, notifications.Change{WebhookURL: &address, DigestMinutes: new(-1)})
		fields := fault.From(err).Fields
		if fields["webhook_url"] == "" || fields["digest_minutes"] == "" {
			t.Errorf("%s: %v", address, fields)
		}
		_, _, refused := s.all.Webhooks.Create(s.Ctx, dbfactory.Person(s.Workspace, tenancy.RoleOwner), webhooks.New{URL: address}, nil)
		if want := fault.From(refused).Fields["url"]; fields["webhook_url"] != want {
			t.Errorf("%s: %q, of webhooks %q", address, fields["webhook_url"], want)
		}
	}
	good := "https://hooks.example.com/me"
	s.save(ada, notifications.Change{WebhookURL: &good})
}

// inside is a resolver of a company: one name leads to its own network, others are not known now.
type inside struct{}

func (inside) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == "intranet.example.com" {
		return []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("10.0.0.7")}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// A private address that the operator has not allowed is never connected to.
func TestPrivateAddressesAreNotConnectedTo(t *testing.T) {
	s := newSpace(t)
	ada := s.hooked(tenancy.RoleOwner, "Ada")
	s.notify.Allow()
	s.handIn("Alpha", "9be04d1f00")
	s.round()
	if n := len(s.hook.got()); n != 0 {
		t.Errorf("%d connections", n)
	}
	all, err := s.notify.Overview(s.Ctx, ada)
	if err != nil || len(all.Channels) != 1 || !strings.Contains(all.Channels[0].Error, "private network") {
		t.Errorf("the page says %+v, %v", all.Channels, err)
	}
}

// Work that an agent verifies, or is expected to, is told of once there is a verdict, or nobody has begun
// for ten minutes.
func TestVerifiedWorkIsToldOfWhenAPersonIsToDecide(t *testing.T) {
	for name, happens := range map[string]func(s *space){
		"a verdict": func(s *space) {
			bob := s.Agent("bob")
			held := s.Claim(bob)
			if _, err := s.Dispatch.Complete(s.Ctx, bob, dispatchtest.Ref(held), report.Completion{Result: []byte(`{"verdict": "unsure"}`)}); err != nil {
				s.T.Fatal(err)
			}
		},
		"nobody begins": func(s *space) {
			dbfactory.Exec(s.T, s.DB, `UPDATE job SET ready_at = now() - interval '11 minutes' WHERE kind = 'verify'`)
			s.Job("another", func(n *jobs.New) { n.Capabilities = []string{"nobody:has"} }) // the log has to move
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.hooked(tenancy.RoleMember, "Ada")
			if _, _, err := s.Jobs.PutProduct(s.Ctx, s.Owner, "default", jobs.ProductSettings{Verify: jobs.Verify{Mode: jobs.VerifyByAgent}}); err != nil {
				t.Fatal(err)
			}
			s.handIn("Alpha", "9be04d1f00")
			s.round()
			if got := s.hook.got(); len(got) != 0 {
				t.Fatalf("while it waits for a verifier there are %+v", got)
			}
			happens(s)
			s.round()
			if got := s.hook.got(); len(got) != 1 || got[0].Data.Decisions[0].Kind != "review" {
				t.Errorf("then there are %+v", got)
			}
		})
	}
}
