package webhooks_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
)

// An event arrives signed, with what changed.
func TestAnEventArrives(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, nil)
	w := s.webhook(to, "job.*")
	s.sends()
	j := s.edit(s.job("Ship it"), "Ship it <soon> & well")
	s.until("both events arrived", func() bool { return len(to.taken()) == 2 })
	reader, err := standard.NewWebhook(to.secrets[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range to.taken() {
		if err := reader.Verify(a.raw, a.head); err != nil {
			t.Errorf("the signature: %v", err)
		}
		if want := []string{"job.created", "job.edited"}[i]; a.Type != want || a.Data.Job != j.Key || a.Data.Seq != int64(i+1) {
			t.Errorf("delivery %d is %s", i, a.raw)
		}
		if !strings.HasPrefix(a.id, "msg_") || a.head.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", a.head)
		}
	}
	if got := to.taken()[1].Data.New["title"]; got != "Ship it <soon> & well" || !strings.Contains(string(to.taken()[1].raw), "<soon> &") {
		t.Errorf("the new title is %v", got)
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(to.taken()[1].raw, &whole); err != nil || len(whole) != 3 {
		t.Errorf("the body has %d fields, %v", len(whole), err)
	}
	s.until("they are noted", func() bool { return len(s.deliveries(w, webhooks.Delivered)) == 2 })
	if d := s.deliveries(w, webhooks.Delivered)[0]; d.Status != 200 || d.Answer != "thanks" || d.Tries != 1 || webhooks.MessageID(d.ID) != to.taken()[0].id {
		t.Errorf("noted %+v", d)
	}
}

// While a rotation overlaps both secrets verify, and afterwards the new one alone.
func TestBothSecretsSignWhileARotationOverlaps(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, nil)
	w := s.webhook(to, "job.*")
	s.sends()
	_, secret, err := s.Webhooks.Rotate(t.Context(), s.who, w.ID, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	to.secrets = append(to.secrets, secret.Reveal())
	check := func(n int, want ...bool) {
		t.Helper()
		s.job("Ship it")
		s.until("it arrived", func() bool { return len(to.taken()) == n })
		a := to.taken()[n-1]
		for i, secret := range to.secrets {
			reader, err := standard.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			if err := reader.Verify(a.raw, a.head); (err == nil) != want[i] {
				t.Errorf("delivery %d by secret %d: %v", n, i, err)
			}
		}
	}
	check(1, true, true)
	dbfactory.Exec(t, s.db, `UPDATE webhook SET old_until = now() - interval '1 second'`)
	check(2, false, true)
}

// A delivery that fails is sent again with the same id and body after the waits of the standard, and
// after the last one the webhook is disabled.
func TestTheLastRetryDisables(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, func(arrival, http.ResponseWriter) int { return 500 })
	w := s.webhook(to, "job.created")
	s.sends()
	s.job("Ship it")
	waits := []time.Duration{5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}
	for i, want := range waits {
		s.until(fmt.Sprint("try ", i+1, " was noted"), func() bool {
			list := s.deliveries(w, webhooks.Pending)
			return len(list) == 1 && list[0].Tries == i+1
		})
		d := s.deliveries(w, webhooks.Pending)[0]
		if took := d.NextAt.Sub(*d.TriedAt); took < want*9/10-time.Second || took > want*11/10+time.Second {
			t.Errorf("after try %d it waits %s, want about %s", i+1, took, want)
		}
		if now := s.get(w); now.State != webhooks.Active || now.FailingSince == nil {
			t.Errorf("after try %d the webhook is %+v", i+1, now)
		}
		s.passes(time.Until(*d.NextAt) + time.Second)
	}
	s.until("it is disabled", func() bool { return s.get(w).State == webhooks.Disabled })
	if now := s.get(w); now.DisabledReason != webhooks.Failing || now.DisabledAt == nil {
		t.Errorf("it is %+v", now)
	}
	for _, a := range to.all() {
		if a.id != to.all()[0].id || string(a.raw) != string(to.all()[0].raw) {
			t.Errorf("a retry has id %s and body %s", a.id, a.raw)
		}
	}
	if n := len(to.all()); n != 9 {
		t.Errorf("%d tries, want 9", n)
	}
	if n := dbfactory.EventCount(t, s.db, string(eventlog.WebhookDisabled)); n != 1 {
		t.Errorf("the log says %d times that it was disabled", n)
	}
	// Enabled again, it delivers what was not, and what happened meanwhile.
	to.mu.Lock()
	to.answer = nil
	to.mu.Unlock()
	s.job("Meanwhile")
	active := webhooks.Active
	if _, err := s.Webhooks.Edit(t.Context(), s.who, w.ID, webhooks.Change{State: &active, Version: s.get(w).Version}); err != nil {
		t.Fatal(err)
	}
	s.until("both were delivered", func() bool { return len(to.taken()) == 2 })
}

// An answer 410 disables at once, also that to a test.
func TestGoneDisables(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, func(arrival, http.ResponseWriter) int { return http.StatusGone })
	first, second := s.webhook(to, "job.*"), s.webhook(to, "budget.*")
	s.sends()
	s.job("Ship it")
	if _, err := s.Webhooks.Test(t.Context(), s.who, second.ID, nil); err != nil {
		t.Fatal(err)
	}
	for _, w := range []webhooks.Webhook{first, second} {
		s.until("it is disabled", func() bool { return s.get(w).State == webhooks.Disabled })
		if now := s.get(w); now.DisabledReason != webhooks.Gone {
			t.Errorf("it is %+v", now)
		}
	}
	if n := len(to.all()); n != 2 {
		t.Errorf("%d tries, want 2", n)
	}
}

// Of each job the events come in their order, whatever fails in between; jobs do not wait for each other.
func TestEventsOfAJobComeInTheirOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var n atomic.Int64
	var poisoned atomic.Bool
	poisoned.Store(true)
	var bad atomic.Pointer[string]
	to := newReceiver(t, func(a arrival, _ http.ResponseWriter) int {
		if key := bad.Load(); key != nil && a.Data.Job == *key && poisoned.Load() || n.Add(1)%4 == 0 {
			return 503
		}
		return 200
	})
	w := s.webhook(to, "job.created", "job.edited")
	const edits = 8
	poison := s.job("Poison")
	bad.Store(&poison.Key)
	for i := range edits {
		poison = s.edit(poison, fmt.Sprint("Poison ", i))
	}
	for i := range 5 {
		j := s.job(fmt.Sprint("Job ", i))
		for k := range edits {
			j = s.edit(j, fmt.Sprint("Job ", i, " edit ", k))
		}
	}
	s.sends()
	good := func() (n int) {
		for _, a := range to.taken() {
			if a.Data.Job != poison.Key {
				n++
			}
		}
		return n
	}
	s.until("all events of the other jobs arrived", func() bool {
		if len(s.deliveries(w, webhooks.Pending)) > 0 {
			s.passes(6 * time.Second)
		}
		return good() == 5*(edits+1)
	})
	if len(to.taken()) != good() {
		t.Error("the poison was taken")
	}
	poisoned.Store(false)
	s.until("those of the first job arrived", func() bool {
		s.passes(2 * time.Hour)
		return len(to.taken()) == 6*(edits+1)
	})
	last := map[string]int64{}
	for _, a := range to.taken() {
		if a.Data.Seq <= last[a.Data.Job] {
			t.Errorf("event %d of %s came after %d", a.Data.Seq, a.Data.Job, last[a.Data.Job])
		}
		last[a.Data.Job] = a.Data.Seq
	}
	s.wantAll(to, 6*(edits+1))
}

// wantAll checks that the events 1 to n were taken.
func (s *site) wantAll(to *receiver, n int) {
	s.t.Helper()
	var seqs []int64
	for _, a := range to.taken() {
		seqs = append(seqs, a.Data.Seq)
	}
	slices.Sort(seqs)
	if len(seqs) != n || seqs[0] != 1 || seqs[n-1] != int64(n) {
		s.t.Errorf("%d events were taken, %v", len(seqs), seqs)
	}
}

// A receiver that was away for a day gets everything once it is back, each job in its order, and
// meanwhile what waits is bounded.
func TestAReceiverThatWasAwayGetsEverything(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var back atomic.Bool
	to := newReceiver(t, func(arrival, http.ResponseWriter) int {
		if back.Load() {
			return 200
		}
		return 502
	})
	w := s.webhook(to, "job.created", "job.edited")
	s.sends()
	const jobsOfAnHour, hours = 9, 24
	for hour := range hours {
		for i := range jobsOfAnHour {
			j := s.job(fmt.Sprint("Job ", hour, " ", i))
			s.edit(s.edit(j, "one "+j.Key), "two "+j.Key)
		}
		s.until("something is pending", func() bool { return s.get(w).Pending > 0 })
		s.passes(time.Hour)
	}
	if n := s.get(w).Pending; n > webhooks.MaxPending {
		t.Errorf("%d deliveries wait", n)
	}
	back.Store(true)
	s.passes(4 * time.Hour) // the next retry
	const all = 3 * jobsOfAnHour * hours
	s.until("all arrived", func() bool { return len(to.taken()) == all })
	s.wantAll(to, all)
	last := map[string]int64{}
	for _, a := range to.taken() {
		if a.Data.Seq <= last[a.Data.Job] {
			t.Errorf("event %d of %s came after %d", a.Data.Seq, a.Data.Job, last[a.Data.Job])
		}
		last[a.Data.Job] = a.Data.Seq
	}
	if all <= webhooks.MaxPending {
		t.Errorf("%d events are no long backlog", all)
	}
}

// Receivers that never answer delay no other one.
func TestASlowReceiverDelaysNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	hold := make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	slow := newReceiver(t, func(arrival, http.ResponseWriter) int { <-hold; return 200 })
	quick := newReceiver(t, nil)
	for range webhooks.MaxWebhooks - 1 {
		s.webhook(slow)
	}
	s.webhook(quick, "job.created")
	s.sends()
	for i := range 30 {
		s.job(fmt.Sprint("Job ", i))
	}
	s.until("the quick one has all", func() bool { return len(quick.taken()) == 30 })
	if n := len(slow.taken()); n > 0 {
		t.Errorf("the slow one has answered %d", n)
	}
	release()
}

// Several servers: one sends, another one takes over, and nothing is missing or sent twice without need.
func TestAnotherServerGoesOn(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, nil)
	s.webhook(to, "job.created")
	other := siteOn(t, s.db, s.who)
	stop := s.sends()
	stopOther := other.sends()
	for i := range 5 {
		s.job(fmt.Sprint("Job ", i))
	}
	s.until("five arrived", func() bool { return len(to.taken()) == 5 })
	stop()
	for i := range 5 {
		other.job(fmt.Sprint("Job ", i))
	}
	s.until("five more arrived", func() bool { return len(to.taken()) == 10 })
	stopOther()
	third := siteOn(t, s.db, s.who)
	third.job("Job 10")
	third.sends()
	s.until("the last one arrived", func() bool { return len(to.taken()) == 11 })
	s.wantAll(to, 11)
	if n := len(to.all()); n != 11 {
		t.Errorf("%d deliveries of 11 events", n)
	}
}

// Two processes that both believe that they are to send note each delivery once.
func TestTwoThatSendNoteEachDeliveryOnceTogether(t *testing.T) {
	t.Parallel()
	s, to := newSite(t), newReceiver(t, nil)
	w := s.webhook(to, "job.created")
	other := siteOn(t, s.db, s.who)
	webhooks.Lead(t, s.Webhooks)
	webhooks.Lead(t, other.Webhooks)
	for i := range 40 {
		s.job(fmt.Sprint("Job ", i))
	}
	s.until("all were noted", func() bool { return len(s.deliveries(w, webhooks.Delivered)) == 40 })
	s.wantAll(to, 40)
	for _, d := range s.deliveries(w, "") {
		if d.Tries != 1 || d.State != webhooks.Delivered {
			t.Errorf("delivery %d: %s after %d tries", d.Seq, d.State, d.Tries)
		}
	}
}
