package quota

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	// maxHolds bounds the credentials that are held up at one moment.
	maxHolds = 10_000
	// sweepEvery is how often those that are over are looked for.
	sweepEvery = time.Second
)

// holds are the credentials whose holder was refused, each until there is one
// for it again. They spare the look-up of who it is: whoever goes on asking
// costs next to nothing.
type holds struct {
	seed maphash.Seed

	mu    sync.Mutex
	until map[uint64]time.Time
	swept time.Time
}

func newHolds() *holds { return &holds{seed: maphash.MakeSeed(), until: map[uint64]time.Time{}} }

func (h *holds) put(credential string, wait time.Duration) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.until) >= maxHolds && now.Sub(h.swept) >= sweepEvery {
		h.swept = now
		for key, until := range h.until {
			if !until.After(now) {
				delete(h.until, key)
			}
		}
	}
	if len(h.until) < maxHolds {
		h.until[maphash.String(h.seed, credential)] = now.Add(wait)
	}
}

// left returns how long a credential is held up still.
func (h *holds) left(credential string) time.Duration {
	key := maphash.String(h.seed, credential)
	h.mu.Lock()
	defer h.mu.Unlock()
	until, ok := h.until[key]
	if !ok {
		return 0
	}
	left := time.Until(until)
	if left <= 0 {
		delete(h.until, key)
	}
	return left
}
