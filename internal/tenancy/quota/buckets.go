package quota

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// buckets holds a bucket for each caller who was there lately. A bucket that was
// left alone until it is full again says nothing, so it is dropped; where there
// are too many, the one that was left alone longest goes.
type buckets[K comparable] struct {
	perSecond rate.Limit
	atOnce    int
	most      int
	full      time.Duration // after which an empty bucket is full again
	servers   Servers       // among which the rate is divided

	mu     sync.Mutex
	of     map[K]*list.Element
	recent *list.List // of *bucket[K], the latest first
}

type bucket[K comparable] struct {
	asker   K
	limiter *rate.Limiter
	servers int // by which the limiter's rate is divided
	used    time.Time
}

func newBuckets[K comparable](perSecond, atOnce, most int, servers Servers) *buckets[K] {
	return &buckets[K]{
		perSecond: rate.Limit(perSecond),
		atOnce:    atOnce,
		most:      most,
		full:      time.Duration(atOnce) * time.Second / time.Duration(perSecond),
		servers:   servers,
		of:        map[K]*list.Element{},
		recent:    list.New(),
	}
}

// take takes one out of the caller's bucket. Where there is none it says when
// there will be, and changes nothing.
func (b *buckets[K]) take(asker K) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.drop(now)
	at, ok := b.of[asker]
	if !ok {
		at = b.recent.PushFront(&bucket[K]{asker: asker, limiter: rate.NewLimiter(b.perSecond, b.atOnce), servers: 1})
		b.of[asker] = at
	}
	b.recent.MoveToFront(at)
	mine := at.Value.(*bucket[K])
	mine.used = now
	b.divide(mine, now)
	return next(mine.limiter, now, true)
}

// divide brings a bucket's rate, and how much it holds, to the part of this server.
func (b *buckets[K]) divide(mine *bucket[K], now time.Time) {
	servers := b.servers.Count()
	if servers == mine.servers {
		return
	}
	mine.servers = servers
	mine.limiter.SetLimitAt(now, b.perSecond/rate.Limit(servers))
	mine.limiter.SetBurstAt(now, part(b.atOnce, servers))
}

// wait returns how long the caller's bucket has none.
func (b *buckets[K]) wait(asker K) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok := b.of[asker]
	if !ok {
		return 0
	}
	return next(at.Value.(*bucket[K]).limiter, time.Now(), false)
}

// next is when the limiter has one to give; it is taken if it has and keep says so.
func next(l *rate.Limiter, now time.Time, keep bool) time.Duration {
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 || !keep {
		r.CancelAt(now)
	}
	return wait
}

// drop frees space for one: of each call that may add a bucket two may go, so
// that old ones never pile up.
func (b *buckets[K]) drop(now time.Time) {
	for range 2 {
		last := b.recent.Back()
		if last == nil {
			return
		}
		old := last.Value.(*bucket[K])
		if now.Sub(old.used) < b.full && b.recent.Len() < b.most {
			return
		}
		b.recent.Remove(last)
		delete(b.of, old.asker)
	}
}
