package kanban

import (
	"slices"

	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
)

// lanesOf are the lanes of a filter's product, repo and factory, and with
// Unroutable those of them that no live factory serves.
func (r *reader) lanesOf(f Filter) ([]int64, error) {
	if err := r.readLanes(); err != nil {
		return nil, err
	}
	var wanted ids.ID
	if f.Product != "" {
		list, err := r.productList()
		at := slices.IndexFunc(list, func(p product) bool { return p.name == f.Product })
		if err != nil || at < 0 {
			return nil, err
		}
		wanted = list[at].id
	}
	var lanes []int64
	for _, l := range r.lanes {
		if (f.Product == "" || l.product == wanted) && (f.Factory == "" || l.factory == f.Factory) &&
			(f.Repo == "" || slices.Contains(l.needs, "repo:"+f.Repo)) {
			lanes = append(lanes, l.id)
		}
	}
	if !f.Unroutable {
		return lanes, nil
	}
	unroutable, err := r.unroutableLanes()
	return slices.DeleteFunc(lanes, func(id int64) bool { return !slices.Contains(unroutable, id) }), err
}

// unroutableLanes are the lanes that no live factory serves.
func (r *reader) unroutableLanes() ([]int64, error) {
	if r.unroutableRead {
		return r.unroutableList, nil
	}
	if err := r.readLanes(); err != nil {
		return nil, err
	}
	able := servingOf(r.snap)
	for _, l := range r.lanes {
		if !slices.ContainsFunc(able, func(a serving) bool { return a.serves(l.needs, l.factory) }) {
			r.unroutableList = append(r.unroutableList, l.id)
		}
	}
	r.unroutableRead = true
	return r.unroutableList, nil
}

// serving is what a live factory that takes jobs offers, and what its live agents
// add to that: fleet.Snapshot.Route, as far as yes or no goes.
type serving struct {
	factory string
	offers  map[string]bool
	agents  [][]string
}

func servingOf(snap fleet.Snapshot) []serving {
	var list []serving
	for _, f := range snap.Factories {
		if !f.Live() || f.Draining {
			continue
		}
		a := serving{factory: f.Name, offers: map[string]bool{}}
		for _, token := range f.Offers() {
			a.offers[token] = true
		}
		for _, agent := range f.Agents {
			known := slices.ContainsFunc(a.agents, func(c []string) bool { return slices.Equal(c, agent.Capabilities) })
			if agent.TakesJobs() && len(agent.Capabilities) > 0 && !known {
				a.agents = append(a.agents, agent.Capabilities)
			}
		}
		list = append(list, a)
	}
	return list
}

func (a serving) serves(needs []string, factory string) bool {
	if factory != "" && factory != a.factory {
		return false
	}
	var lacks []string
	for _, need := range needs {
		if !a.offers[need] {
			lacks = append(lacks, need)
		}
	}
	return len(lacks) == 0 || slices.ContainsFunc(a.agents, func(own []string) bool {
		return !slices.ContainsFunc(lacks, func(need string) bool { return !slices.Contains(own, need) })
	})
}

// route is fleet.Snapshot.Route, asked once for each lane.
func (r *reader) route(lane int64, needs fleet.Needs) fleet.Routing {
	known, ok := r.routes[lane]
	if !ok {
		if r.routes == nil {
			r.routes = map[int64]fleet.Routing{}
		}
		known = r.snap.Route(needs)
		r.routes[lane] = known
	}
	return known
}
