package preempt

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/internal/ids"
)

func TestWhatBecomesOfARequest(t *testing.T) {
	stands := request{Held: true, Directed: true, Ready: true, Gap: 4}
	for name, c := range map[string]struct {
		change func(*request)
		gap    int
		closed bool
		want   state
	}{
		"it stands":                         {gap: 4, want: asked},
		"the gap was lowered":               {gap: 1, want: asked},
		"the gap was raised":                {gap: 5, want: withdrawn},
		"no seats are taken any more":       {gap: 0, want: withdrawn},
		"the job is not ready":              {func(r *request) { r.Ready = false }, 4, false, withdrawn},
		"the job cannot be given out":       {gap: 4, closed: true, want: withdrawn},
		"the victim was made more urgent":   {func(r *request) { r.Gap = 3 }, 4, false, withdrawn},
		"the victim takes no seat any more": {func(r *request) { r.Follows = true }, 4, false, withdrawn},
		"nobody answered":                   {func(r *request) { r.Expired = true }, 4, false, expired},
		"nobody answered, nor needs it":     {func(r *request) { r.Expired, r.Ready = true, false }, 4, false, expired},
		"somebody else directs the agent":   {func(r *request) { r.Directed = false }, 4, false, kept},
		"the lease has ended":               {func(r *request) { r.Held, r.Directed = false, false }, 4, false, ended},
	} {
		r := stands
		if c.change != nil {
			c.change(&r)
		}
		if got := judge(r, c.gap, !c.closed); got != c.want {
			t.Errorf("%s: it is %s; want %s", name, got, c.want)
		}
	}
}

// fakeSeats knows which jobs are open, how many free seats there are, and which job could have whose seat.
type fakeSeats struct {
	closed []ids.ID
	free   int
	unfit  map[ids.ID]string // factories that cannot run the job
}

func (f *fakeSeats) IsOpen(job ids.ID) bool { return !slices.Contains(f.closed, job) }
func (f *fakeSeats) TakeFree(ids.ID) bool {
	f.free--
	return f.free >= 0
}
func (f *fakeSeats) CouldTake(job ids.ID, factory string, _ ids.ID) bool {
	return f.unfit[job] != factory
}

func TestWhoIsAskedForWhom(t *testing.T) {
	first, second, third := ids.New(), ids.New(), ids.New()
	low, lower, high := ids.New(), ids.New(), ids.New()
	ready := []urgent{{JobID: first, Priority: 9}, {JobID: second, Priority: 9}, {JobID: third, Priority: 7}}
	victims := []victim{{JobID: high, Priority: 8, Factory: "a"}, {JobID: low, Priority: 5, Factory: "a"}, {JobID: lower, Priority: 1, Factory: "b"}}
	for name, c := range map[string]struct {
		seats fakeSeats
		gap   int
		want  map[ids.ID]ids.ID
	}{
		"each victim once, the first that fits": {fakeSeats{}, 4, map[ids.ID]ids.ID{first: low, second: lower}},
		"a smaller gap":                         {fakeSeats{}, 1, map[ids.ID]ids.ID{first: high, second: low, third: lower}},
		"a seat that cannot run it":             {fakeSeats{unfit: map[ids.ID]string{first: "a"}}, 4, map[ids.ID]ids.ID{first: lower, second: low}},
		"a free seat for the first":             {fakeSeats{free: 1}, 4, map[ids.ID]ids.ID{second: low, third: lower}},
		"the first is not given out":            {fakeSeats{closed: []ids.ID{first}}, 4, map[ids.ID]ids.ID{second: low, third: lower}},
		"a wide gap":                            {fakeSeats{}, 10, map[ids.ID]ids.ID{}},
	} {
		pairs := choose(findNeedy(ready, &c.seats), victims, c.gap, &c.seats)
		got := map[ids.ID]ids.ID{}
		for _, p := range pairs {
			got[p.job] = p.JobID
		}
		if len(got) != len(c.want) || len(got) != len(pairs) {
			t.Errorf("%s: %d are asked; want %d", name, len(pairs), len(c.want))
		}
		for job, victim := range c.want {
			if got[job] != victim {
				t.Errorf("%s: another victim than the expected one is asked", name)
			}
		}
	}
}
