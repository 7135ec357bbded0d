package pools

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func pool(name string, most, seats int, capabilities ...string) Pool {
	t := Template{Max: most, Offers: Offers{Seats: seats, Capabilities: capabilities}}
	return Pool{Template: t, Name: name, tokens: t.Offers.Tokens()}
}

func TestDemand(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Pool)
		queued  int
		offered int
		want    Demand
	}{
		"nothing":               {want: Demand{}},
		"one job":               {queued: 1, want: Demand{Value: 1, Start: 1, Queued: 1}},
		"by seats, rounded up":  {queued: 3, offered: 1, change: func(p *Pool) { p.Offers.Seats = 3 }, want: Demand{Value: 2, Start: 2, Queued: 3, Offered: 1}},
		"at least its minimum":  {change: func(p *Pool) { p.Min = 2 }, want: Demand{Value: 2, Start: 2}},
		"at most its maximum":   {queued: 9, want: Demand{Value: 4, Start: 4, Queued: 9, AtMaximum: true}},
		"idle ones beside jobs": {queued: 1, change: func(p *Pool) { p.MinIdle = 2 }, want: Demand{Value: 3, Start: 3, Queued: 1, MinIdle: 2}},
		// What is being started is part of the value, so that it does not fall while it starts,
		// and is not started twice.
		"one is being started": {queued: 1, change: func(p *Pool) { p.Starting = 1 }, want: Demand{Value: 1, Queued: 1, Starting: 1}},
		"one runs":             {change: func(p *Pool) { p.Live, p.Running = 1, 1 }, want: Demand{Value: 1, Running: 1, Factories: 1}},
		"one too many lives":   {change: func(p *Pool) { p.Live = 2 }, want: Demand{Factories: 2}},
		"draining ones leave no room": {queued: 4, change: func(p *Pool) { p.Live, p.Draining, p.Running = 1, 3, 4 },
			want: Demand{Value: 4, Queued: 4, Running: 4, Factories: 1, Draining: 3, AtMaximum: true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := pool("linux", 4, 1)
			if c.change != nil {
				c.change(&p)
			}
			if diff := cmp.Diff(c.want, p.demand(c.queued, c.offered)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A job counts for one pool: that which offers least and has room.
func TestAJobCountsForOnePool(t *testing.T) {
	small, large := pool("small", 1, 2, "has:git"), pool("big", 2, 1, "has:git", "has:gpu")
	billing := pool("billing", 5, 1, "has:git", "has:gpu", "has:tpu")
	billing.ProductScope = []string{"billing"}
	all := []Pool{billing, large, small}
	for name, c := range map[string]struct {
		lanes []lane
		want  []int
	}{
		"the plainest first":     {[]lane{{"default", []string{"has:git"}, 2}}, []int{0, 0, 2}},
		"the next has the rest":  {[]lane{{"default", []string{"has:git"}, 3}}, []int{0, 1, 2}},
		"over all waits":         {[]lane{{"default", []string{"has:git"}, 9}}, []int{0, 7, 2}},
		"what only one offers":   {[]lane{{"default", []string{"has:gpu"}, 1}}, []int{0, 1, 0}},
		"of its product":         {[]lane{{"billing", []string{"has:tpu"}, 1}, {"default", []string{"has:tpu"}, 1}}, []int{1, 0, 0}},
		"room is shared by all":  {[]lane{{"default", nil, 2}, {"default", []string{"has:git"}, 2}}, []int{0, 2, 2}},
		"what none of them does": {[]lane{{"default", []string{"os:mac"}, 5}}, []int{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := share(all, c.lanes); !cmp.Equal(got, c.want) {
				t.Errorf("billing, big and small have %v; want %v", got, c.want)
			}
		})
	}
}
