package fleet

import (
	"reflect"
	"testing"
)

// A factory that does not offer now what a job needs says why, and is a nearer miss than one that
// never has it; one without an engine that works takes nothing, and one that has ended neither.
func TestRoutingByWhatIsUnavailable(t *testing.T) {
	dead := Unavailable{Kind: UnavailableEngine, Name: "claude", Reason: "Invalid API key"}
	gone := Unavailable{Kind: UnavailableRepo, Name: "atlas", Reason: "not a git repository"}
	with := func(name string, engines []string, all ...Unavailable) Factory {
		f := host(name, 4, 0, 4, "has:git")
		f.Engines, f.Unavailable = engines, all
		return f
	}
	ended := host("d-ended", 4, 0, 4)
	ended.Health, ended.Agents = Ended, []Agent{{Name: "x", Health: Ended}}
	snap := Snapshot{Factories: []Factory{with("a-other", []string{"codex"}), with("b-idle", nil, dead), with("c-partly", []string{"codex"}, dead, gone), ended,
		with("e-without", nil, gone)}}
	type miss struct {
		factory, reason string
		unavailable     []Unavailable
	}
	for name, c := range map[string]struct {
		needs    Needs
		eligible []string
		misses   []miss
	}{
		"nothing": {Needs{}, []string{"a-other", "c-partly", "e-without"}, []miss{{"b-idle", ReasonUnavailable, []Unavailable{dead}}, {"d-ended", ReasonEnded, nil}}},
		"an engine": {Needs{Capabilities: []string{"engine:claude"}}, nil, []miss{
			{"b-idle", ReasonMissing, []Unavailable{dead}}, {"c-partly", ReasonMissing, []Unavailable{dead}}, {"a-other", ReasonMissing, nil},
			{"d-ended", ReasonMissing, nil}, {"e-without", ReasonMissing, nil}}},
		"both": {Needs{Repo: "atlas", Capabilities: []string{"engine:codex"}}, nil, []miss{
			{"c-partly", ReasonMissing, []Unavailable{gone}}, {"a-other", ReasonMissing, nil}, {"e-without", ReasonMissing, []Unavailable{gone}},
			{"b-idle", ReasonMissing, nil}, {"d-ended", ReasonMissing, nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := snap.Route(c.needs)
			var eligible []string
			for _, fit := range r.Eligible {
				eligible = append(eligible, fit.Factory.Name)
			}
			var misses []miss
			for _, fit := range r.Ineligible {
				misses = append(misses, miss{fit.Factory.Name, fit.Reason, fit.Unavailable})
			}
			if !reflect.DeepEqual(eligible, c.eligible) || !reflect.DeepEqual(misses, c.misses) {
				t.Errorf("eligible %v, ineligible %+v", eligible, misses)
			}
		})
	}
	for _, f := range snap.Factories {
		if works := f.Name != "b-idle" && f.Name != "d-ended"; f.TakesJobs() != works || f.Free() > 0 != works {
			t.Errorf("%s takes jobs: %v, %d seats are free", f.Name, f.TakesJobs(), f.Free())
		}
	}
}
