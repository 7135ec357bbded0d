package ui

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestMarkupIsKeptWithinItsBytes(t *testing.T) {
	r, rendered := newRenderings(100), 0
	show := func(src string) string {
		return r.get(src, func(src string) SafeHTML { rendered++; return SafeHTML{html: strings.Repeat(src, 30)} }).html
	}
	for i, src := range []string{"a", "a", "b", "c", "a", "d", "a", "b", "long", "long"} {
		if got := show(src); got != strings.Repeat(src, 30) {
			t.Fatalf("%d: %q", i, got)
		}
		if r.bytes > r.most || r.bytes != 30*r.kept.Len() {
			t.Errorf("%d: keeps %d bytes of %d texts", i, r.bytes, r.kept.Len())
		}
	}
	// a, b, c, d; then b, which went for d; and a text that is too long to be kept, twice.
	if rendered != 7 {
		t.Errorf("rendered %d times", rendered)
	}
}

// Long texts wait for a seat, short ones do not, and a text is rendered once for all who wait.
func TestLongTextsTakeSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRenderings(maxRendered)
		var at, most, times atomic.Int32
		goOn := make(chan struct{})
		slow := func(string) SafeHTML {
			most.Store(max(most.Load(), at.Add(1)))
			times.Add(1)
			<-goOn
			at.Add(-1)
			return SafeHTML{html: "slow"}
		}
		var all sync.WaitGroup
		for i := range 3 * (cap(r.seats) + 1) {
			all.Go(func() { r.get(fmt.Sprint(i%(cap(r.seats)+1), strings.Repeat("x", longText)), slow) })
		}
		synctest.Wait()
		if got := r.get("short", func(string) SafeHTML { return SafeHTML{html: "fast"} }); got.html != "fast" {
			t.Errorf("short text is %q", got.html)
		}
		close(goOn)
		all.Wait()
		if int(most.Load()) > cap(r.seats) || int(times.Load()) > 2*cap(r.seats)+1 {
			t.Errorf("%d at a time, %d times, %d seats", most.Load(), times.Load(), cap(r.seats))
		}
	})
}
