package screens

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// findLanes returns the lanes of a filter's products, repos and factories, and with
// Unroutable those of them whose jobs nothing can run.
func (r *reader) findLanes(f Filter) ([]int64, error) {
	if err := r.readLanes(); err != nil {
		return nil, err
	}
	var wanted []ids.ID
	if len(f.Products) > 0 {
		list, err := r.productList()
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			if slices.Contains(f.Products, p.name) {
				wanted = append(wanted, p.id)
			}
		}
	}
	inRepo := func(l lane) bool {
		return slices.ContainsFunc(f.Repos, func(repo string) bool { return slices.Contains(l.needs, "repo:"+repo) })
	}
	var lanes []int64
	for _, l := range r.lanes {
		if (len(f.Products) == 0 || slices.Contains(wanted, l.product)) && allows(f.Factories, l.factory) &&
			(len(f.Repos) == 0 || inRepo(l)) {
			lanes = append(lanes, l.id)
		}
	}
	if !f.Unroutable {
		return lanes, nil
	}
	unroutable, err := r.unroutableLanes()
	stuck := laneIDs(unroutable)
	return slices.DeleteFunc(lanes, func(id int64) bool { return !slices.Contains(stuck, id) }), err
}

// unservedLanes returns the lanes that no live factory serves.
func (r *reader) unservedLanes() ([]lane, error) {
	if r.unservedRead {
		return r.unserved, nil
	}
	if err := r.readLanes(); err != nil {
		return nil, err
	}
	offers := listOffers(r.snap)
	for _, l := range r.lanes {
		has := slices.ContainsFunc(offers, func(o fleet.Offer) bool { return o.Has(l.needs, l.factory) })
		if !has || !r.snap.HasOther(l.needs, l.factory) {
			r.unserved = append(r.unserved, l)
		}
	}
	r.unservedRead = true
	return r.unserved, nil
}

// unroutableLanes returns the lanes that no live factory serves and for which no factory can be
// expected of a pool: their jobs wait for a person.
func (r *reader) unroutableLanes() ([]lane, error) {
	unserved, err := r.unservedLanes()
	if err != nil || len(unserved) == 0 {
		return nil, err
	}
	list, err := r.poolList()
	if err != nil || len(list) == 0 {
		return unserved, err
	}
	products, err := r.productList()
	if err != nil {
		return nil, err
	}
	names := map[ids.ID]string{}
	for _, p := range products {
		names[p.id] = p.name
	}
	var lanes []lane
	for _, l := range unserved {
		needs := fleet.Needs{Capabilities: l.needs, Factory: l.factory}
		if !pools.Startable(list, names[l.product], needs, r.snap).IsExpected() {
			lanes = append(lanes, l)
		}
	}
	return lanes, nil
}

// isForVerifiers reports whether the lane keeps authors away: its jobs verify their work.
func (l lane) isForVerifiers() bool { return slices.ContainsFunc(l.needs, distinct.Is) }

// splitLanes returns the ids of lanes without and with verify jobs, as statements take them: a list without
// any is empty there, not null.
func splitLanes(lanes []lane) (work, verify []int64) {
	work, verify = []int64{}, []int64{}
	for _, l := range lanes {
		if l.isForVerifiers() {
			verify = append(verify, l.id)
		} else {
			work = append(work, l.id)
		}
	}
	return work, verify
}

func laneIDs(lanes []lane) []int64 {
	list := make([]int64, len(lanes))
	for i, l := range lanes {
		list[i] = l.id
	}
	return list
}

// listOffers returns what the live factories that take jobs offer, by themselves and with
// what their live agents add: fleet.Snapshot.Route, as far as yes or no goes.
func listOffers(snap fleet.Snapshot) []fleet.Offer {
	var list []fleet.Offer
	for _, f := range snap.Factories {
		if !f.TakesJobs() {
			continue
		}
		own := f.Offers()
		list = append(list, fleet.Offer{Factory: f.Name, Tokens: own})
		var known [][]string
		for _, agent := range f.Agents {
			seen := slices.ContainsFunc(known, func(c []string) bool { return slices.Equal(c, agent.Capabilities) })
			if !agent.TakesJobs() || len(agent.Capabilities) == 0 || seen {
				continue
			}
			known = append(known, agent.Capabilities)
			both := slices.Concat(own, agent.Capabilities)
			slices.Sort(both)
			list = append(list, fleet.Offer{Factory: f.Name, Tokens: both})
		}
	}
	return list
}

// sameOffers reports whether two fleets can run the same.
func sameOffers(a, b []fleet.Offer) bool {
	return slices.EqualFunc(a, b, func(x, y fleet.Offer) bool { return x.Factory == y.Factory && slices.Equal(x.Tokens, y.Tokens) })
}

// route is fleet.Snapshot.Route, called once for each lane.
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
