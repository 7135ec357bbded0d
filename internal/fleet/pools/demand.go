package pools

import (
	"cmp"
	"slices"
)

// Demand is how many factories a pool needs now, and why. Jobs are counted up to what the pool
// could hold at its maximum and a little more: what lies beyond changes nothing.
type Demand struct {
	// Value is how many factories there should be, those that are there and being started
	// among them: the jobs that are queued, offered and running by the seats of a factory,
	// rounded up, and MinIdle beside them; at least Min and at most Max.
	Value int `json:"value"`
	// Start is how many are to be started now: Value without those that are there and those
	// that are being started.
	Start     int  `json:"start"`
	Queued    int  `json:"queued"`
	Offered   int  `json:"offered"`
	Running   int  `json:"running"`
	MinIdle   int  `json:"min_idle"`
	Starting  int  `json:"starting"`
	Factories int  `json:"factories"`
	Draining  int  `json:"draining"`
	AtMaximum bool `json:"at_maximum"`
}

// lane is the jobs that can be claimed now and need the same of a factory.
type lane struct {
	product string
	needs   []string
	jobs    int
}

// share counts the jobs of each lane for the pools that fit, and returns each pool's, by place.
// Of several pools that which offers least comes first, then by name; what it has no room for
// goes on to the next. What none has room for is queued for the last: it waits there.
func share(pools []Pool, lanes []lane) []int {
	order := make([]int, len(pools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(len(pools[a].tokens), len(pools[b].tokens)), cmp.Compare(pools[a].Name, pools[b].Name))
	})
	queued := make([]int, len(pools))
	for _, l := range lanes {
		left, last := l.jobs, -1
		for _, i := range order {
			if !pools[i].fits(l.product, l.needs) {
				continue
			}
			n := min(left, max(0, pools[i].room()-queued[i]))
			queued[i] += n
			left, last = left-n, i
		}
		if last >= 0 {
			queued[last] += left
		}
	}
	return queued
}

// demand returns what a pool needs for so many queued and offered jobs.
func (p Pool) demand(queued, offered int) Demand {
	jobs := queued + offered + p.Running
	seats := p.Offers.Seats
	wanted := (jobs+seats-1)/seats + p.MinIdle
	d := Demand{Queued: queued, Offered: offered, Running: p.Running, MinIdle: p.MinIdle, Starting: p.Starting, Factories: p.Live,
		Draining: p.Draining, Value: min(max(wanted, p.Min), p.Max), AtMaximum: wanted > p.Max}
	d.Start = max(0, min(d.Value-p.Live-p.Starting, p.Max-p.Live-p.Draining-p.Starting))
	return d
}
