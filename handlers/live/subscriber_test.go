package live

import (
	"fmt"
	"testing"
)

// A reader that does not read holds nobody up: it has to fetch the page anew,
// and then goes on.
func TestASlowReaderIsToldToFetchThePageAnew(t *testing.T) {
	all := subscribers{list: map[*subscriber]bool{}}
	slow, quick := &subscriber{}, &subscriber{}
	all.add(slow)
	all.add(quick)
	for i := range queueSize + 1 {
		if err := all.publish(t.Context(), Update{}, fmt.Sprintf("%d-0", i+1)); err != nil {
			t.Fatal(err)
		}
		<-quick.queue
	}
	n := 0
	for range slow.queue {
		n++
	}
	if n != queueSize || !slow.late || quick.late || !all.list[quick] || all.list[slow] {
		t.Errorf("after %d messages: late %v, the other %v, %d subscribers", n, slow.late, quick.late, len(all.list))
	}
	if !all.add(slow) || slow.late {
		t.Error("a late reader gets no new place")
	}
}
