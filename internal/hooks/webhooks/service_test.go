package webhooks_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Owners and admins see and change webhooks, and nobody else; another workspace has none of them.
func TestWhoSeesWebhooks(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, nil)
	w := s.webhook(to)
	for role, want := range map[tenancy.Role]bool{
		tenancy.RoleOwner: true, tenancy.RoleAdmin: true, tenancy.RoleMember: false, tenancy.RoleViewer: false,
	} {
		who := dbfactory.Person(s.who.Workspace, role)
		if _, err := s.Webhooks.Get(t.Context(), who, w.ID); (err == nil) != want {
			t.Errorf("%s reads it: %v", role, err)
		}
		if _, _, err := s.Webhooks.Create(t.Context(), who, webhooks.New{URL: to.URL}, nil); (err == nil) != want {
			t.Errorf("%s makes one: %v", role, err)
		}
		if _, err := s.Webhooks.Test(t.Context(), who, w.ID, nil); (err == nil) != want {
			t.Errorf("%s tests it: %v", role, err)
		}
	}
	stranger := dbfactory.Person(dbfactory.Workspace(t, s.db), tenancy.RoleOwner)
	_, _, deliveries := s.Webhooks.Deliveries(t.Context(), stranger, w.ID, "", ids.Nil, 10)
	_, again := s.Webhooks.Redeliver(t.Context(), stranger, s.deliveries(w, "")[0].ID, nil)
	_, _, rotated := s.Webhooks.Rotate(t.Context(), stranger, w.ID, 1, nil)
	for what, err := range map[string]error{"delete": s.Webhooks.Delete(t.Context(), stranger, w.ID), "deliveries": deliveries,
		"redeliver": again, "rotate": rotated} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("a stranger's %s: %v", what, err)
		}
	}
	if list, err := s.Webhooks.List(t.Context(), stranger); err != nil || len(list) > 0 {
		t.Errorf("a stranger sees %d, %v", len(list), err)
	}
}

// What people do is in the audit, with who, before and after, and no secret and no path of an address.
func TestTheAuditHasWhatPeopleDid(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, nil)
	w := s.webhook(to, "job.created")
	url, types, paused := to.URL+"/another/secret-path", []string{"job.*"}, webhooks.Paused
	if _, err := s.Webhooks.Edit(t.Context(), s.who, w.ID, webhooks.Change{URL: &url, Types: &types, State: &paused, Version: w.Version}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Webhooks.Edit(t.Context(), s.who, w.ID, webhooks.Change{URL: &url, Version: w.Version}); !fault.Is(err, fault.VersionConflict) {
		t.Errorf("a change of an old version: %v", err)
	}
	_, secret, err := s.Webhooks.Rotate(t.Context(), s.who, w.ID, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Webhooks.Delete(t.Context(), s.who, w.ID); err != nil {
		t.Fatal(err)
	}
	list, _, err := s.Events.Audit(t.Context(), s.who, eventlog.Filter{Types: []string{"webhook.*"}}, eventlog.AuditPlace{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range list {
		text := fmt.Sprintf("%s by %s: %v %s", e.Type, e.Actor.Name, e.Changes, e.Payload)
		said = append(said, text)
		for _, hidden := range []string{"secret-path", "/hook", secret.Reveal()[6:], to.secrets[0][6:]} {
			if strings.Contains(text, hidden) {
				t.Errorf("the audit says %s", text)
			}
		}
	}
	if len(list) != 4 || list[3].Type != eventlog.WebhookCreated || list[2].Type != eventlog.WebhookChanged || len(list[2].Changes) != 3 ||
		list[1].Type != eventlog.WebhookSecretRotated || list[0].Type != eventlog.WebhookDeleted {
		t.Errorf("the audit says\n%s", strings.Join(said, "\n"))
	}
	if n := dbfactory.Int(t, s.db, "SELECT count(*) FROM webhook_delivery"); n != 0 {
		t.Errorf("%d deliveries are left", n)
	}
}

// A secret is nowhere in the rows, and moves with the keys of the workspace.
func TestSecretsAreSealedAndMoveWithTheKeys(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, nil)
	w := s.webhook(to, "job.created")
	_, secret, err := s.Webhooks.Rotate(t.Context(), s.who, w.ID, 24, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw := dbfactory.Text(t, s.db, "SELECT (SELECT string_agg(w::text, ' ') FROM webhook w) || (SELECT string_agg(e::text, ' ') FROM event e)")
	for _, text := range []string{secret.Reveal(), to.secrets[0]} {
		if strings.Contains(raw, text[6:]) {
			t.Error("a secret is in the rows")
		}
	}
	if err := s.Jobs.Secrets.RenewKey(t.Context(), s.who); err != nil {
		t.Fatal(err)
	}
	if n := dbfactory.Int(t, s.db, "SELECT count(*) FROM webhook WHERE key_id = 1 AND old_key_id = 1"); n != 1 {
		t.Fatalf("%d webhooks are sealed with the first key", n)
	}
	if _, err := s.Jobs.Secrets.RotateSecrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := dbfactory.Int(t, s.db, "SELECT count(*) FROM workspace_key WHERE retired_at IS NOT NULL"); n != 0 {
		t.Error("a key was retired that a webhook still needs")
	}
	if n, err := s.Webhooks.RotateWebhookKeys(t.Context()); n != 1 || err != nil {
		t.Errorf("%d moved, %v", n, err)
	}
	if n, err := s.Webhooks.RotateWebhookKeys(t.Context()); n != 0 || err != nil {
		t.Errorf("%d moved again, %v", n, err)
	}
	if _, err := s.Jobs.Secrets.RotateSecrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := dbfactory.Int(t, s.db, "SELECT count(*) FROM workspace_key WHERE retired_at IS NOT NULL"); n != 1 {
		t.Error("the first key was not retired")
	}
	s.sends()
	s.job("Ship it")
	s.until("it arrived", func() bool { return len(to.taken()) == 1 })
	if n := len(strings.Fields(to.taken()[0].head.Get("webhook-signature"))); n != 2 {
		t.Errorf("%d signatures", n)
	}
}

// What cannot be is refused by its field.
func TestWhatNoWebhookCanBe(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, nil)
	for field, in := range map[string]webhooks.New{
		"types[0]":    {URL: to.URL, Types: []string{"job.unheard"}},
		"types[1]":    {URL: to.URL, Types: []string{"job.created", "nothing.*"}},
		"types":       {URL: to.URL, Types: strings.Split(strings.Repeat("job.created ", webhooks.MaxTypes+1), " ")[:webhooks.MaxTypes+1]},
		"products[0]": {URL: to.URL, Products: []string{"no-such-product"}},
		"secret":      {URL: to.URL, Secret: "whsec_short"},
		"url":         {URL: "ftp://hooks.example/"},
	} {
		_, _, err := s.Webhooks.Create(t.Context(), s.who, in, nil)
		if field == "types" { // many times the same is one
			if err != nil {
				t.Errorf("%s: %v", field, err)
			}
			continue
		}
		if !fault.Is(err, fault.Validation) || fault.From(err).Fields[field] == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	for range webhooks.MaxWebhooks - 1 {
		s.webhook(to)
	}
	if _, _, err := s.Webhooks.Create(t.Context(), s.who, webhooks.New{URL: to.URL}, nil); !fault.Is(err, fault.InUse) {
		t.Errorf("one more than there may be: %v", err)
	}
}

// A webhook with products gets the events of their jobs alone; types narrow it, too.
func TestAWebhookGetsWhatItNames(t *testing.T) {
	t.Parallel()
	s, all, some := newSite(t), newReceiver(t, nil), newReceiver(t, nil)
	if _, _, err := s.Jobs.PutProduct(t.Context(), s.who, "payments", jobs.ProductSettings{}); err != nil {
		t.Fatal(err)
	}
	s.webhook(all)
	if _, _, err := s.Webhooks.Create(t.Context(), s.who, webhooks.New{URL: some.URL, Types: []string{"job.created", "product.*"},
		Products: []string{"payments"}}, nil); err != nil {
		t.Fatal(err)
	}
	s.sends()
	s.edit(s.job("Of no product"), "Edited")
	made, err := s.Jobs.Create(t.Context(), s.who, nil, jobs.New{Spec: jobs.Spec{Title: "Pay"}, Product: "payments"})
	if err != nil {
		t.Fatal(err)
	}
	s.edit(made.Jobs[0], "Paid")
	arrived := func() (n int) {
		for _, a := range all.taken() {
			if a.Type != "product.saved" { // it was just before
				n++
			}
		}
		return n
	}
	s.until("all events arrived", func() bool { return arrived() == 6 })
	s.until("the one arrived", func() bool { return len(some.taken()) == 1 })
	if a := some.taken()[0]; a.Data.Job != made.Jobs[0].Key || a.Data.Seq != 1 {
		t.Errorf("it got %s", a.raw)
	}
}

// A test arrives also where the webhook is paused, once, and says who sent it; a redelivery has the same
// id, and holds back nothing.
func TestATestAndARedeliveryAreSentOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var fails atomic.Bool
	to := newReceiver(t, func(arrival, http.ResponseWriter) int {
		if fails.Load() {
			return 500
		}
		return 200
	})
	w := s.webhook(to, "job.created")
	s.sends()
	s.job("First")
	s.until("it arrived", func() bool { return len(s.deliveries(w, webhooks.Delivered)) == 1 })
	paused := webhooks.Paused
	w, err := s.Webhooks.Edit(t.Context(), s.who, w.ID, webhooks.Change{State: &paused, Version: w.Version})
	if err != nil {
		t.Fatal(err)
	}
	s.job("Second")
	if _, err := s.Webhooks.Test(t.Context(), s.who, w.ID, nil); err != nil {
		t.Fatal(err)
	}
	s.until("the test arrived", func() bool { return len(s.deliveries(w, webhooks.Delivered)) == 2 })
	if a := to.all()[1]; a.Type != "webhook.test" || a.Data.Seq != 0 || !strings.Contains(string(a.raw), s.who.Name) {
		t.Errorf("the test is %s", a.raw)
	}
	fails.Store(true)
	first := s.deliveries(w, webhooks.Delivered)[0]
	if _, err := s.Webhooks.Redeliver(t.Context(), s.who, first.ID, nil); err != nil {
		t.Fatal(err)
	}
	s.until("the redelivery has failed", func() bool { return len(s.deliveries(w, webhooks.Failed)) == 1 })
	if a, d := to.all()[2], s.deliveries(w, webhooks.Failed)[0]; a.id != to.all()[0].id || d.ID != first.ID || d.Tries != 2 || d.Error == "" {
		t.Errorf("redelivered %s, noted %+v", a.id, d)
	}
	fails.Store(false)
	s.until("no other transaction keeps the second back", func() bool {
		return dbfactory.Text(t, s.db, "SELECT count(*)::text FROM event WHERE xid >= log_horizon()") == "0"
	})
	active := webhooks.Active
	if _, err := s.Webhooks.Edit(t.Context(), s.who, w.ID, webhooks.Change{State: &active, SkipBacklog: true, Version: w.Version}); err != nil {
		t.Fatal(err)
	}
	s.job("Third")
	s.until("the third arrived", func() bool { return len(s.deliveries(w, webhooks.Delivered)) == 2 })
	if a := to.all()[3]; a.Data.Job != "FB-3" {
		t.Errorf("after the backlog was left out it got %s", a.raw)
	}
}

// A delivery to be sent again at once keeps its place among the retries.
func TestAHurryUsesNoRetry(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	to := newReceiver(t, func(a arrival, _ http.ResponseWriter) int {
		if a.Data.Job == "FB-1" {
			return 400
		}
		return 200
	})
	w := s.webhook(to, "job.created")
	s.sends()
	s.job("Poison")
	s.until("it was tried", func() bool { l := s.deliveries(w, webhooks.Pending); return len(l) == 1 && l[0].Tries == 1 })
	dbfactory.Exec(t, s.db, "UPDATE webhook_place SET failing_since = failing_since - interval '1 hour'")
	before := dbfactory.Text(t, s.db, "SELECT retry_at::text FROM webhook_delivery")
	s.job("Good")
	s.until("it was tried at once", func() bool {
		l := s.deliveries(w, webhooks.Pending)
		return len(l) == 1 && l[0].Tries == 2 || dbfactory.Int(t, s.db, "SELECT count(*) FROM webhook_delivery WHERE retry_at <= clock_timestamp()") == 2
	})
	if after := dbfactory.Text(t, s.db, "SELECT retry_at::text FROM webhook_delivery WHERE state = 'pending' AND tries = 2 AND retries = 1"); after != before {
		t.Errorf("its retry was due at %s and is at %s", before, after)
	}
}

// What was said of a job that is deleted goes with it, and that it was deleted arrives.
func TestADeletedJobTakesItsDeliveriesWithIt(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, nil)
	w := s.webhook(to, "job.created", "job.purged")
	stop := s.sends()
	j := s.job("A name that is to go")
	s.until("it arrived", func() bool { return len(s.deliveries(w, webhooks.Delivered)) == 1 })
	stop()
	dbfactory.Exec(t, s.db, "UPDATE job SET status = 'archived' WHERE id = $1", j.ID)
	dbfactory.Exec(t, s.db, "DELETE FROM job_ready")
	if err := s.Jobs.Purge(t.Context(), s.who, j.Key); err != nil {
		t.Fatal(err)
	}
	if n := dbfactory.Int(t, s.db, "SELECT count(*) FROM webhook_delivery"); n != 0 {
		t.Errorf("%d deliveries are left", n)
	}
	s.sends()
	s.until("its end arrived", func() bool { return len(to.taken()) == 2 })
	if a := to.taken()[1]; a.Type != "job.purged" || a.Data.Job != j.Key || strings.Contains(string(a.raw), "A name") {
		t.Errorf("it got %s", a.raw)
	}
}

// Deliveries that ended go after a week, those that are to be sent stay.
func TestOldDeliveriesGo(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, nil)
	w := s.webhook(to, "job.created")
	stop := s.sends()
	s.job("Old")
	s.until("it arrived", func() bool { return len(s.deliveries(w, webhooks.Delivered)) == 1 })
	stop()
	s.passes(8 * 24 * time.Hour)
	s.sends()
	s.until("it is gone", func() bool { return len(s.deliveries(w, "")) == 0 })
}

// A place of another cluster, beyond the end of this log, is brought back to it.
func TestAPlaceBeyondTheLogIsBroughtBack(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, nil)
	s.webhook(to, "job.created")
	dbfactory.Exec(t, s.db, "UPDATE webhook_place SET place = '9000000000000-7'")
	s.sends()
	s.until("it is at the end of the log", func() bool {
		return dbfactory.Int(t, s.db, "SELECT count(*) FROM webhook_place WHERE place = '9000000000000-7'") == 0
	})
	s.job("After it")
	s.until("it arrived", func() bool { return len(to.taken()) == 1 })
}

// Answers are other people's text: a part of them is kept, as one line, without our secret.
func TestAHostileAnswerIsKeptAsText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var to *receiver
	to = newReceiver(t, func(_ arrival, w http.ResponseWriter) int {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, "\x1b[31m<script>\u202e\x00"+to.secrets[0]+"\n\xff")
		for range 1000 {
			if _, err := fmt.Fprint(w, strings.Repeat("x", 10_000)); err != nil {
				break
			}
		}
		return 0
	})
	w := s.webhook(to, "job.created")
	s.sends()
	s.job("Ship it")
	s.until("it was tried", func() bool { l := s.deliveries(w, webhooks.Pending); return len(l) == 1 && l[0].Tries == 1 })
	d := s.deliveries(w, webhooks.Pending)[0]
	if d.Status != 500 || len([]rune(d.Answer)) > 500 || strings.ContainsAny(d.Answer, "\x1b\x00\n\u202e") ||
		strings.Contains(d.Answer, to.secrets[0][6:]) || !strings.Contains(d.Answer, "<script>") {
		t.Errorf("kept %q", d.Answer)
	}
}

// The application's own rights are enough for all of it, and the rows of one workspace are not another's.
func TestNothingIsSentToAnotherWorkspacesWebhook(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	mine := siteOn(t, d, dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleOwner))
	theirs := siteOn(t, d, dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleOwner))
	to, other := newReceiver(t, nil), newReceiver(t, nil)
	mine.webhook(to, "job.created")
	theirs.webhook(other, "job.created")
	mine.sends()
	mine.job("Mine")
	theirs.job("Theirs")
	mine.until("both arrived", func() bool { return len(to.taken()) == 1 && len(other.taken()) == 1 })
	if strings.Contains(string(to.taken()[0].raw), theirs.who.Workspace.String()) || len(to.all())+len(other.all()) != 2 {
		t.Error("an event went to another workspace's webhook")
	}
}
