package leadership

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/internal/signal"
)

// memoryStore has the lease of an election in memory. Its clock is the test's own time.
type memoryStore struct {
	mu      sync.Mutex
	holder  string
	term    int64
	expires time.Time
}

func (m *memoryStore) acquire(holder string) (int64, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if left := time.Until(m.expires); left > 0 && m.holder != holder {
		return 0, left
	}
	m.holder, m.term, m.expires = holder, m.term+1, time.Now().Add(leaseDuration)
	return m.term, 0
}

func (m *memoryStore) renew(holder string, term int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holder != holder || m.term != term || time.Until(m.expires) <= 0 {
		return false
	}
	m.expires = time.Now().Add(leaseDuration)
	return true
}

func (m *memoryStore) resign(holder string, term int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holder == holder && m.term == term {
		m.expires = time.Now()
	}
}

// faultyStore is the leaseStore of one process: requests to store fail as before says on the way
// there, and as after says on the way back.
type faultyStore struct {
	store  *memoryStore
	holder string

	mu            sync.Mutex
	before, after func(ctx context.Context) error
}

// setFaults sets how requests fail from now on.
func (f *faultyStore) setFaults(before, after func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

func (f *faultyStore) request(ctx context.Context, do func()) error {
	f.mu.Lock()
	before, after := f.before, f.after
	f.mu.Unlock()
	if err := before(ctx); err != nil {
		return err
	}
	do()
	return after(ctx)
}

func (f *faultyStore) acquire(ctx context.Context) (term int64, left time.Duration, err error) {
	if err := f.request(ctx, func() { term, left = f.store.acquire(f.holder) }); err != nil {
		return 0, 0, err
	}
	return term, left, nil
}

func (f *faultyStore) renew(ctx context.Context, term int64) (ok bool, err error) {
	err = f.request(ctx, func() { ok = f.store.renew(f.holder, term) })
	return ok, err
}

func (f *faultyStore) resign(ctx context.Context, term int64) error {
	return f.request(ctx, func() { f.store.resign(f.holder, term) })
}

func noFault(context.Context) error { return nil }

// noAnswer waits until the request is given up.
func noAnswer(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func candidate(m *memoryStore, name string) (*Election, *faultyStore, *bytes.Buffer) {
	var log bytes.Buffer
	f := &faultyStore{store: m, holder: name, before: noFault, after: noFault}
	return &Election{name: "election", holder: name, leases: f, log: slog.New(slog.NewTextHandler(&log, nil))}, f, &log
}

// observedTerm is one term, as lead observed it.
type observedTerm struct {
	holder     string
	term       int64
	begin, end time.Duration
}

// observer records terms, and reports two at the same time.
type observer struct {
	t     *testing.T
	start time.Time
	mu    sync.Mutex
	now   string
	list  []observedTerm
}

func (o *observer) lead(ctx context.Context, t *Term) {
	o.mu.Lock()
	if o.now != "" {
		o.t.Errorf("%s begins term %d while %s leads", t.Holder, t.Number, o.now)
	}
	o.now = t.Holder
	begin := time.Since(o.start)
	o.mu.Unlock()
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), errTrustEnded) && t.Trusted() {
		o.t.Errorf("%s trusts itself after its time", t.Holder)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = ""
	o.list = append(o.list, observedTerm{t.Holder, t.Number, begin, time.Since(o.start)})
}

func TestALeaderThatIsCutOffStopsBeforeTheOtherBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := &memoryStore{}
		seen := &observer{t: t, start: time.Now()}
		first, store, log := candidate(leases, "first")
		second, _, _ := candidate(leases, "second")
		ctx, cancel := context.WithCancel(t.Context())
		var both sync.WaitGroup
		both.Go(func() { _ = first.Run(ctx, seen.lead) })
		synctest.Wait()
		both.Go(func() { _ = second.Run(ctx, seen.lead) })
		// Renewed at 5 and 10 s; from then on nothing comes back.
		time.AfterFunc(11*time.Second, func() { store.setFaults(noAnswer, noFault) })
		time.AfterFunc(60*time.Second, func() { store.setFaults(noFault, noFault) })
		time.AfterFunc(120*time.Second, cancel)
		both.Wait()
		if len(seen.list) != 2 {
			t.Fatalf("terms: %+v", seen.list)
		}
		a, z := seen.list[0], seen.list[1]
		if a.holder != "first" || a.term != 1 || a.end != 22*time.Second {
			t.Errorf("the one cut off: %+v; want it to end 12 s after its last renewal, at 22 s", a)
		}
		if z.holder != "second" || z.term != 2 || z.begin < 25*time.Second || z.begin > 26*time.Second || z.end != 120*time.Second {
			t.Errorf("the other: %+v; want it to begin at the lease's end, at 25 s, and to stay", z)
		}
		if n := strings.Count(log.String(), "cannot be acquired"); n != 1 || strings.Count(log.String(), "acquired again") != 1 {
			t.Errorf("an outage must be logged when it begins and when it ends:\n%s", log)
		}
	})
}

// A renewal that was long under way counts from when it was sent.
func TestTrustCountsFromBeforeTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := &memoryStore{}
		seen := &observer{t: t, start: time.Now()}
		election, store, _ := candidate(leases, "only")
		slow := func(context.Context) error { return signal.Sleep(context.Background(), 2*time.Second) }
		time.AfterFunc(time.Second, func() { store.setFaults(noFault, slow) }) // the renewal of 5 s is answered at 7 s
		time.AfterFunc(8*time.Second, func() { store.setFaults(noAnswer, noFault) })
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_ = election.Run(ctx, seen.lead)
		if len(seen.list) != 1 || seen.list[0].end != 17*time.Second {
			t.Errorf("terms: %+v; want one that ends 12 s after 5 s", seen.list)
		}
	})
}

func TestARefusedRenewalEndsTheTermAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := &memoryStore{}
		seen := &observer{t: t, start: time.Now()}
		election, _, _ := candidate(leases, "only")
		time.AfterFunc(6*time.Second, func() {
			leases.mu.Lock()
			defer leases.mu.Unlock()
			leases.holder, leases.term, leases.expires = "operator", 7, time.Now().Add(20*time.Second)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		_ = election.Run(ctx, seen.lead)
		if len(seen.list) != 2 || seen.list[0].end != 10*time.Second || seen.list[1].term != 8 {
			t.Errorf("terms: %+v; want the first to end with the refusal at 10 s, the next to be 8", seen.list)
		}
	})
}

func TestALeaderThatStopsResigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := &memoryStore{}
		seen := &observer{t: t, start: time.Now()}
		first, _, _ := candidate(leases, "first")
		second, _, _ := candidate(leases, "second")
		short, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		long, end := context.WithTimeout(t.Context(), 20*time.Second)
		defer end()
		var both sync.WaitGroup
		both.Go(func() { _ = first.Run(short, seen.lead) })
		synctest.Wait()
		both.Go(func() { _ = second.Run(long, seen.lead) })
		both.Wait()
		if len(seen.list) != 2 || seen.list[1].holder != "second" || seen.list[1].begin > 12*time.Second {
			t.Errorf("terms: %+v; want the second to begin within 5 s of 7 s, not at the lease's end", seen.list)
		}
	})
}

// Requests are late, lost on the way there or on the way back, for hours. Nobody
// ever trusts itself while another does, and terms only rise.
func TestNoTwoTrustThemselvesWhateverGoesWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := &memoryStore{}
		seen := &observer{t: t, start: time.Now()}
		luck := rand.New(rand.NewPCG(7, 11))
		var mu sync.Mutex
		trouble := func(ctx context.Context) error {
			mu.Lock()
			kind, wait := luck.IntN(10), time.Duration(luck.IntN(9000))*time.Millisecond
			mu.Unlock()
			switch {
			case kind < 4:
				return nil
			case kind < 6:
				return errors.New("lost")
			case kind < 7:
				// Held up, and carried out although nobody waits any more.
				return signal.Sleep(context.WithoutCancel(ctx), wait)
			}
			return signal.Sleep(ctx, wait)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Hour)
		defer cancel()
		var all sync.WaitGroup
		for _, name := range []string{"first", "second", "third"} {
			election, store, _ := candidate(leases, name)
			store.setFaults(trouble, trouble)
			all.Go(func() { _ = election.Run(ctx, seen.lead) })
		}
		all.Wait()
		if len(seen.list) < 100 {
			t.Errorf("only %d terms in six hours; the trouble is too small", len(seen.list))
		}
		for i := 1; i < len(seen.list); i++ {
			if before, now := seen.list[i-1], seen.list[i]; now.term <= before.term || now.begin < before.end {
				t.Errorf("term %+v follows %+v", now, before)
			}
		}
	})
}
