package quota

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// spend takes until the first refusal, and says how many there were and for how
// long to wait.
func spend(t *testing.T, take func() error) (taken, wait int) {
	t.Helper()
	for range 100_000 {
		err := take()
		if err == nil {
			taken++
			continue
		}
		f := fault.From(err)
		wait, _ = f.Details["retry_after"].(int)
		if f.Code != fault.TooMany || wait < 1 {
			t.Fatalf("refused with %v and retry_after %v", f, f.Details["retry_after"])
		}
		return taken, wait
	}
	t.Fatal("there was no limit")
	return 0, 0
}

func TestEachAskerHasItsBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, one := New(200, nil), ids.New()
		for name, c := range map[string]struct {
			take func() error
			want int
		}{
			"a person's token": {func() error {
				return q.Call(tenancy.Principal{Kind: tenancy.KindPerson, Account: one, Token: ids.New()}, ids.New().String())
			}, 1000},
			"an agent": {func() error {
				return q.Call(tenancy.Principal{Kind: tenancy.KindAgent, Agent: ids.ID{1}, Token: one}, "t")
			}, 1000},
			"a heartbeat":       {func() error { return q.Heartbeat(one) }, 20},
			"an enrolment":      {func() error { return q.Call(tenancy.Principal{Kind: tenancy.KindEnrolment, Token: one}, "t") }, 2000},
			"a person":          {func() error { return q.Person(one, "c") }, 300},
			"an address":        {func() error { return q.Address("192.0.2.1") }, 300},
			"no address at all": {func() error { return q.Address("") }, 300},
		} {
			if taken, wait := spend(t, c.take); taken != c.want || wait != 1 {
				t.Errorf("%s: %d at once and wait %d s, want %d and 1", name, taken, wait, c.want)
			}
		}
		if err := q.Call(tenancy.Principal{Kind: tenancy.KindPerson, Account: ids.New()}, "t"); err != nil {
			t.Errorf("another person pays for the first: %v", err)
		}
	})
}

func TestABucketFillsAtItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, one := New(8, nil), ids.New()
		take := func() error { return q.Person(one, "c") } // 2 a second, 12 at once
		for _, c := range []struct {
			after time.Duration
			want  int
		}{{0, 12}, {0, 0}, {499 * time.Millisecond, 0}, {time.Millisecond, 1}, {3 * time.Second, 6}, {time.Hour, 12}} {
			<-time.After(c.after)
			if taken, _ := spend(t, take); taken != c.want {
				t.Errorf("after %v: %d, want %d", c.after, taken, c.want)
			}
		}
	})
}

// Retry-After is true: who waits that long gets one.
func TestTheWaitIsLongEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBuckets[int](1, 3, 10, nil)
		for range 3 {
			b.take(1)
		}
		for range 50 { // asking does not make the wait longer
			b.take(1)
		}
		wait := b.take(1)
		if wait != time.Second || b.wait(1) != wait {
			t.Errorf("wait %v, and %v without taking", wait, b.wait(1))
		}
		<-time.After(wait)
		for range 5 { // a look takes nothing
			if b.wait(1) != 0 {
				t.Error("after the wait there was none")
			}
		}
		if first, second := b.take(1), b.take(1); first != 0 || second == 0 {
			t.Errorf("after the wait there was not exactly one: %v, %v", first, second)
		}
	})
}

// Junk of an address costs a few look-ups at a time. A good credential of the same
// address waits for its turn once, and then for nothing.
func TestAGoodCredentialAmongJunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, here := New(4, nil), "192.0.2.1" // 1 a second, 6 at once
		pass := func(credential string) (done func()) {
			t.Helper()
			done, err := q.Doubt(t.Context(), here, credential)
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		for range 100 { // while the address has some left nobody waits, and nothing is counted
			pass("junk")
		}
		if taken, _ := spend(t, func() error { return q.Address(here) }); taken != 6 {
			t.Errorf("%d left, want 6", taken)
		}
		keep := func() { // the address stays spent
			for q.Address(here) == nil {
			}
		}
		var leave []func()
		for range doubtsAtOnce {
			leave = append(leave, pass("junk"))
		}
		keep()
		began := time.Now()
		time.AfterFunc(doubtWait/4, leave[0])
		done := pass("good")
		if took := time.Since(began); took != doubtWait/4 {
			t.Errorf("the good one waited %v for its turn", took)
		}
		keep()
		if err := q.Call(tenancy.Principal{Kind: tenancy.KindPerson, Account: ids.New()}, "good"); err != nil {
			t.Fatal(err)
		}
		pass("good")() // known now
		keep()
		_, err := q.Doubt(t.Context(), here, "junk")
		if f := fault.From(err); f.Code != fault.TooMany || f.Details["retry_after"] == nil {
			t.Errorf("one more: %v", err)
		}
		done()
		pass("junk")()
	})
}

func TestWhoSharesAnAddress(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"2001:db8:1:2::": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := network(address); got.String() != want {
			t.Errorf("%s belongs to %s, want %s", address, got, want)
		}
	}
	for _, nothing := range []string{"", "unknown", "192.0.2.1:80", "a, b"} {
		if got := network(nothing); got != (netip.Prefix{}) {
			t.Errorf("%q belongs to %s", nothing, got)
		}
	}
}

// However many come, memory has a bound, and who left is forgotten.
func TestBucketsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBuckets[string](10, 20, 100, nil)
		for range 20 {
			b.take("greedy")
		}
		for i := range 50 {
			b.take(fmt.Sprint(i))
			b.take("greedy")
		}
		if b.take("greedy") == 0 {
			t.Error("others made the greedy one's bucket full")
		}
		for i := range 10_000 {
			b.take(fmt.Sprint(i))
		}
		if n := len(b.of); n > 100 || n != b.recent.Len() {
			t.Errorf("%d buckets and %d in the list, want at most 100", n, b.recent.Len())
		}
		<-time.After(3 * time.Second)
		for i := range 100 {
			b.take(fmt.Sprint("new ", i))
		}
		<-time.After(3 * time.Second)
		for range 100 {
			b.take("last")
		}
		if n := len(b.of); n != 1 {
			t.Errorf("%d buckets stay of who left, want none but the last", n-1)
		}
	})
}

// Who was refused is refused again by its credential, until there is one for it.
func TestWhoIsRefusedIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, one := New(4, nil), ids.New() // a person: 1 a second, 6 at once
		if q.Held("cookie") != nil {
			t.Fatal("held before anything was asked")
		}
		spend(t, func() error { return q.Person(one, "cookie") })
		if q.Held("cookie") == nil || q.Held("another") != nil {
			t.Error("not exactly the one that was refused is held")
		}
		<-time.After(time.Second)
		if q.Held("cookie") != nil || q.Person(one, "cookie") != nil {
			t.Error("held although there is one again")
		}
		h := newHolds()
		for i := range 3 * maxHolds {
			h.put(fmt.Sprint(i), time.Second)
		}
		if len(h.until) != maxHolds {
			t.Errorf("%d holds, want %d at most", len(h.until), maxHolds)
		}
		<-time.After(time.Second)
		h.put("late", time.Second)
		if h.left("late") != time.Second || len(h.until) != 1 {
			t.Errorf("%d holds stay of what is over", len(h.until)-1)
		}
	})
}

func TestManyAskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, one := New(40, nil), ids.New()
		var let atomic.Int32
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				for range 100 {
					if q.Person(one, "c") == nil {
						let.Add(1)
					}
					_ = q.Address(fmt.Sprintf("192.0.2.%d", i))
				}
			})
		}
		all.Wait()
		if let.Load() != 60 {
			t.Errorf("%d were let through, want 60", let.Load())
		}
	})
}

func TestWithoutLimit(t *testing.T) {
	for range 10_000 {
		if q := New(0, nil); q.Person(ids.Nil, "c") != nil || q.Call(tenancy.Principal{}, "t") != nil || q.Heartbeat(ids.Nil) != nil ||
			q.Address("") != nil || q.Held("") != nil {
			t.Fatal("no limit refuses")
		}
	}
}

func BenchmarkTake(b *testing.B) {
	q := New(1_000_000_000, nil)
	askers := make([]ids.ID, 10_000)
	for i := range askers {
		askers[i] = ids.New()
	}
	for i := 0; b.Loop(); i++ {
		_ = q.Call(tenancy.Principal{Kind: tenancy.KindAgent, Agent: askers[i%len(askers)]}, "t")
	}
}

// Servers that live grant a caller together what one would, and what is left of them grants all.
func TestRatesAreDividedAmongTheServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, one := 3, ids.New()
		q := New(40, func() int { return live }) // a person: 10 a second, 60 at once
		take := func() error { return q.Person(one, "c") }
		if taken, _ := spend(t, take); taken != 20 {
			t.Errorf("a third at once: %d, want 20", taken)
		}
		<-time.After(3 * time.Second)
		if taken, _ := spend(t, take); taken != 10 {
			t.Errorf("a third in three seconds: %d, want 10", taken)
		}
		live = 1
		_, _ = spend(t, take)
		<-time.After(3 * time.Second)
		if taken, _ := spend(t, take); taken != 30 {
			t.Errorf("the whole in three seconds: %d, want 30", taken)
		}
		<-time.After(time.Minute)
		if taken, _ := spend(t, take); taken != 60 {
			t.Errorf("the whole at once: %d, want 60", taken)
		}
	})
}

// Parts are rounded up, so that nobody is left with nothing.
func TestSharesAreDividedAmongTheServers(t *testing.T) {
	if got, want := (Shares{Asker: 32, Enrolment: 1, Workspace: 999}).Among(3), (Shares{Asker: 11, Enrolment: 1, Workspace: 333}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for name, s := range map[string]Servers{"unknown": nil, "none": func() int { return 0 }} {
		if n := s.Count(); n != 1 {
			t.Errorf("%s: %d servers", name, n)
		}
	}
}
