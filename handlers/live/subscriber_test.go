package live

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/a-h/templ"
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

// letters is a part of a page that says whether it is whole.
type letters struct{}

func (letters) Column() string { return "ready" }

func (letters) Render(ctx context.Context, out io.Writer) error {
	text := "whole"
	if DiffOnly(ctx) {
		text = "diff"
	}
	_, err := io.WriteString(out, text)
	return err
}

// Whoever was sent a column before gets its diff; whoever was not gets all of it,
// and from then on the diff too.
func TestAColumnGoesOutWholeOnceAndThenAsADiff(t *testing.T) {
	all := subscribers{list: map[*subscriber]bool{}}
	old, late := &subscriber{}, &subscriber{}
	all.add(old)
	publish := func() {
		t.Helper()
		if err := all.publish(t.Context(), Update{Parts: []templ.Component{letters{}}}, ""); err != nil {
			t.Fatal(err)
		}
	}
	has := func(who string, s *subscriber, want string) {
		t.Helper()
		if got := string((<-s.queue).text.plain); got != "data: "+want+"\n\n" {
			t.Errorf("%s got %q, want %s", who, got, want)
		}
	}
	publish()
	has("the first", old, "whole")
	all.add(late)
	publish()
	has("an old reader", old, "diff")
	has("a new reader", late, "whole")
	publish()
	has("no longer new", late, "diff")
}
