package pools

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/internal/fleet"
)

// Of the pools that fit, one from which a factory can be expected comes first, and one that has room.
func TestThePoolThatStartsOne(t *testing.T) {
	plain := func(name string) Pool { return pool(name, 1, 1, "has:git") }
	full, stalled, gpu := plain("full"), plain("stalled"), pool("gpu", 1, 1, "has:git", "has:gpu")
	full.Live, stalled.Stalled = 1, true
	never, billing := pool("never", 0, 1, "has:git"), plain("billing")
	billing.ProductScope = []string{"billing"}
	member := fleet.Factory{Name: "m", Pool: "lacking", Health: fleet.Healthy}
	draining := fleet.Factory{Name: "d", Pool: "room", Health: fleet.Healthy, Draining: true}
	snap := fleet.Snapshot{Factories: []fleet.Factory{member, draining}}
	lacking := plain("lacking")
	for name, c := range map[string]struct {
		pools []Pool
		needs fleet.Needs
		want  *Start
	}{
		"none":               {nil, needs("has:git"), nil},
		"none fits":          {[]Pool{never, billing, plain("a")}, needs("has:gpu"), nil},
		"one named":          {[]Pool{plain("a")}, fleet.Needs{Factory: "a-1"}, nil},
		"with room":          {[]Pool{full, stalled, lacking, plain("room")}, needs("has:git"), &Start{Pool: "room"}},
		"at its maximum":     {[]Pool{lacking, stalled, full}, needs("has:git"), &Start{Pool: "full", Maximum: 1}},
		"stalled":            {[]Pool{lacking, stalled}, needs("has:git"), &Start{Pool: "stalled", Stalled: true}},
		"lacks what it says": {[]Pool{lacking}, needs("has:git"), &Start{Pool: "lacking", Lacks: []string{"has:git"}}},
		"of another kind":    {[]Pool{plain("a"), gpu}, needs("has:gpu"), &Start{Pool: "gpu"}},
	} {
		got := Startable(c.pools, "default", c.needs, snap)
		if !cmp.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if expected := c.want != nil && !c.want.Stalled && c.want.Lacks == nil; got.IsExpected() != expected {
			t.Errorf("%s: it is expected: %t", name, !expected)
		}
	}
}

func needs(capabilities ...string) fleet.Needs { return fleet.Needs{Capabilities: capabilities} }
