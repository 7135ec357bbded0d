package ui

import (
	"crypto/sha256"
	"runtime"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// maxRendered bounds the markup that is kept, in bytes, and maxRenderedTexts of how
	// many texts.
	maxRendered, maxRenderedTexts = 16 << 20, 10_000
	// longText is the length from which texts are rendered a few at a time, in bytes.
	longText = 4 << 10
)

// rendered is the markup of the texts that pages showed lately.
var rendered = newRenderings(maxRendered)

// renderings keeps markup by the SHA-256 of its source, what was not used for longest
// going first. Long texts take half of the processors at most.
type renderings struct {
	seats chan struct{}

	mu    sync.Mutex
	kept  *simplelru.LRU[[sha256.Size]byte, SafeHTML]
	bytes int // of the markup in kept
	most  int
}

func newRenderings(most int) *renderings {
	r := &renderings{seats: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), most: most}
	r.kept, _ = simplelru.NewLRU(maxRenderedTexts, func(_ [sha256.Size]byte, gone SafeHTML) { // fails for a size of 0 alone
		r.bytes -= len(gone.html)
	})
	return r
}

// get returns the markup of a text, rendered where it is not kept.
func (r *renderings) get(src string, render func(string) SafeHTML) SafeHTML {
	key := sha256.Sum256([]byte(src))
	if markup, ok := r.find(key); ok {
		return markup
	}
	if len(src) >= longText {
		r.seats <- struct{}{}
		defer func() { <-r.seats }()
		if markup, ok := r.find(key); ok { // by whoever had the seat
			return markup
		}
	}
	markup := render(src)
	r.add(key, markup)
	return markup
}

func (r *renderings) find(key [sha256.Size]byte) (SafeHTML, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept.Get(key)
}

func (r *renderings) add(key [sha256.Size]byte, markup SafeHTML) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept.Contains(key) || len(markup.html) > r.most {
		return
	}
	r.kept.Add(key, markup)
	r.bytes += len(markup.html)
	for r.bytes > r.most {
		r.kept.RemoveOldest()
	}
}
