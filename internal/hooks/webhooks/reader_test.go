package webhooks_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
)

// A webhook passes over parts of the log that have nothing of its types, and over nothing else.
func TestAWebhookPassesOverWhatDoesNotConcernIt(t *testing.T) {
	t.Parallel()
	at := func(s string) eventlog.Cursor {
		c, err := eventlog.ParseCursor(s)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	spans := []string{"10-5 job.created job.claimed", "20-9 job.claimed", "20-12 product.saved", "30-15 job.failed"}
	for _, c := range []struct{ name, place, wanted, end string }{
		{"up to the part with its type", "5-0", "job.failed", "20-12"},
		{"from the midst of a part", "10-2", "job.failed", "20-12"},
		{"not over a part of which it may have seen its events", "10-2", "job.created", "10-2"},
		{"from the end of a part", "10-5", "job.created", "30-15"},
		{"a family", "10-5", "product.*", "20-9"},
		{"everything", "10-5", "*", "10-5"},
		{"one of several types", "10-5", "job.failed product.saved", "20-9"},
		{"no part is known from before", "1-0", "job.failed", "1-0"},
		{"nor after the end", "30-15", "job.failed", "30-15"},
		{"a word within a type", "10-5", "job.*d", "30-15"},
	} {
		read := []webhooks.Part{}
		after := at("5-0")
		for _, text := range spans {
			words := strings.Fields(text)
			types := []eventlog.Type{}
			for _, w := range words[1:] {
				types = append(types, eventlog.Type(w))
			}
			read = append(read, webhooks.NewPart(after, at(words[0]), types...))
			after = at(words[0])
		}
		if got := webhooks.Skip(at(c.place), strings.Fields(c.wanted), read...); got != at(c.end) {
			t.Errorf("%s: it goes on at %s, want %s", c.name, got, c.end)
		}
	}
}

// Each of several webhooks gets the events of its types, all of them and in their order, whatever else
// happens in between.
func TestEachWebhookGetsItsTypes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wanted := []string{"job.created", "job.edited", "job.*", "product.*", "*"}
	to := make([]*receiver, len(wanted))
	for i, types := range wanted {
		to[i] = newReceiver(t, nil)
		s.webhook(to[i], types)
	}
	s.sends()
	var created, edited []string
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		j := s.job("Ship it")
		created = append(created, j.Key)
		for range random.IntN(3) {
			j = s.edit(j, j.Title+"!")
			edited = append(edited, j.Key)
		}
	}
	for i, want := range []int{len(created), len(edited), len(created) + len(edited), 0, len(created) + len(edited)} {
		s.until("what "+wanted[i]+" wants arrived", func() bool { return len(to[i].taken()) >= want })
	}
	for i, want := range map[int][]string{0: created, 1: edited} {
		got := []string{}
		for _, a := range to[i].taken() {
			got = append(got, a.Data.Job)
		}
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", wanted[i], got, want)
		}
	}
	if n := len(to[3].all()); n > 0 {
		t.Errorf("%d deliveries of products, want none", n)
	}
}
