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

// book is a leaseStore in memory. Its clock is the test's own time.
type book struct {
	mu      sync.Mutex
	holder  string
	term    int64
	expires time.Time
}

func (b *book) acquire(holder string) (int64, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := time.Until(b.expires); left > 0 && b.holder != holder {
		return 0, left
	}
	b.holder, b.term, b.expires = holder, b.term+1, time.Now().Add(leaseDuration)
	return b.term, 0
}

func (b *book) renew(holder string, term int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holder != holder || b.term != term || time.Until(b.expires) <= 0 {
		return false
	}
	b.expires = time.Now().Add(leaseDuration)
	return true
}

func (b *book) resign(holder string, term int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holder == holder && b.term == term {
		b.expires = time.Now()
	}
}

// line is a process's way to the book, with what may go wrong on it: before is
// called on the way there and after on the way back.
type line struct {
	book   *book
	holder string

	mu            sync.Mutex
	before, after func(ctx context.Context) error
}

// set changes what goes wrong from now on.
func (l *line) set(before, after func(context.Context) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before, l.after = before, after
}

func (l *line) ask(ctx context.Context, do func()) error {
	l.mu.Lock()
	before, after := l.before, l.after
	l.mu.Unlock()
	if err := before(ctx); err != nil {
		return err
	}
	do()
	return after(ctx)
}

func (l *line) acquire(ctx context.Context) (term int64, left time.Duration, err error) {
	if err := l.ask(ctx, func() { term, left = l.book.acquire(l.holder) }); err != nil {
		return 0, 0, err
	}
	return term, left, nil
}

func (l *line) renew(ctx context.Context, term int64) (ok bool, err error) {
	err = l.ask(ctx, func() { ok = l.book.renew(l.holder, term) })
	return ok, err
}

func (l *line) resign(ctx context.Context, term int64) error {
	return l.ask(ctx, func() { l.book.resign(l.holder, term) })
}

func fine(context.Context) error { return nil }

// silent waits as on a line on which nothing comes back.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func candidate(b *book, name string) (*Election, *line, *bytes.Buffer) {
	var log bytes.Buffer
	l := &line{book: b, holder: name, before: fine, after: fine}
	return &Election{name: "election", holder: name, leases: l, log: slog.New(slog.NewTextHandler(&log, nil))}, l, &log
}

// reign is one term, as it was seen from inside.
type reign struct {
	holder     string
	term       int64
	begin, end time.Duration
}

// reigns gathers terms, and reports two at the same moment.
type reigns struct {
	t     *testing.T
	start time.Time
	mu    sync.Mutex
	now   string
	list  []reign
}

func (r *reigns) lead(ctx context.Context, t *Term) {
	r.mu.Lock()
	if r.now != "" {
		r.t.Errorf("%s begins term %d while %s leads", t.Holder, t.Number, r.now)
	}
	r.now = t.Holder
	begin := time.Since(r.start)
	r.mu.Unlock()
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), errSilence) && t.Trusted() {
		r.t.Errorf("%s trusts itself after its time", t.Holder)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = ""
	r.list = append(r.list, reign{t.Holder, t.Number, begin, time.Since(r.start)})
}

func TestALeaderThatIsCutOffStopsBeforeTheOtherBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, seen := &book{}, &reigns{t: t, start: time.Now()}
		first, way, log := candidate(b, "first")
		second, _, _ := candidate(b, "second")
		ctx, cancel := context.WithCancel(t.Context())
		var both sync.WaitGroup
		both.Go(func() { _ = first.Run(ctx, seen.lead) })
		synctest.Wait()
		both.Go(func() { _ = second.Run(ctx, seen.lead) })
		// Renewed at 5 and 10 s; from then on nothing comes back.
		time.AfterFunc(11*time.Second, func() { way.set(silent, fine) })
		time.AfterFunc(60*time.Second, func() { way.set(fine, fine) })
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
			t.Errorf("an outage is to be told when it begins and when it ends:\n%s", log)
		}
	})
}

// A renewal that was long under way counts from when it was sent.
func TestTrustCountsFromBeforeTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, seen := &book{}, &reigns{t: t, start: time.Now()}
		o, way, _ := candidate(b, "only")
		slow := func(context.Context) error { return signal.Sleep(context.Background(), 2*time.Second) }
		time.AfterFunc(time.Second, func() { way.set(fine, slow) }) // the renewal of 5 s is answered at 7 s
		time.AfterFunc(8*time.Second, func() { way.set(silent, fine) })
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_ = o.Run(ctx, seen.lead)
		if len(seen.list) != 1 || seen.list[0].end != 17*time.Second {
			t.Errorf("terms: %+v; want one that ends 12 s after 5 s", seen.list)
		}
	})
}

func TestARefusedRenewalEndsTheTermAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, seen := &book{}, &reigns{t: t, start: time.Now()}
		o, _, _ := candidate(b, "only")
		time.AfterFunc(6*time.Second, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.holder, b.term, b.expires = "operator", 7, time.Now().Add(20*time.Second)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		_ = o.Run(ctx, seen.lead)
		if len(seen.list) != 2 || seen.list[0].end != 10*time.Second || seen.list[1].term != 8 {
			t.Errorf("terms: %+v; want the first to end with the refusal at 10 s, the next to be 8", seen.list)
		}
	})
}

func TestALeaderThatStopsResigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, seen := &book{}, &reigns{t: t, start: time.Now()}
		first, _, _ := candidate(b, "first")
		second, _, _ := candidate(b, "second")
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
		b, seen := &book{}, &reigns{t: t, start: time.Now()}
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
			o, way, _ := candidate(b, name)
			way.set(trouble, trouble)
			all.Go(func() { _ = o.Run(ctx, seen.lead) })
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
