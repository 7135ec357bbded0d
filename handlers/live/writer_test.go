package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Every end of a line that a reader knows begins a data line and no field.
func TestMessageLines(t *testing.T) {
	for data, want := range map[string]string{
		"":                             "id: 7-1\ndata: \n\n",
		"a":                            "id: 7-1\ndata: a\n\n",
		"a\nb":                         "id: 7-1\ndata: a\ndata: b\n\n",
		"a\r\n\r\nid: 9\revent: reset": "id: 7-1\ndata: a\ndata: \ndata: id: 9\ndata: event: reset\n\n",
	} {
		if diff := cmp.Diff(want, string(lines("7-1", data))); diff != "" {
			t.Errorf("%q: %s", data, diff)
		}
	}
	if got := string(lines("", "a")); got != "data: a\n\n" {
		t.Errorf("without a place: %q", got)
	}
}

func TestMergeKeepsTheLatest(t *testing.T) {
	one, two, gone := ids.New(), ids.New(), ids.New()
	card := func(id ids.ID, version int) screens.Card {
		return screens.Card{Job: jobs.Job{ID: id, Version: version}}
	}
	snap := &fleet.Snapshot{}
	first := &screens.Update{Cursor: "1-1", Cards: []screens.Card{card(one, 1), card(gone, 1)},
		Touched: []screens.ColumnPage{{Column: screens.Ready, Count: 2}}, Fleet: snap}
	second := &screens.Update{Cursor: "2-1", Cards: []screens.Card{card(one, 2), card(two, 1)}, Gone: []ids.ID{gone},
		Touched: []screens.ColumnPage{{Column: screens.Ready, Count: 1}, {Column: screens.Running, Count: 1}}}
	var got screens.Update
	merge(&got, first)
	merge(&got, second)
	if got.Cursor != "2-1" || got.Fleet != snap || len(got.Gone) != 1 {
		t.Errorf("merged into %+v", got)
	}
	if len(got.Cards) != 2 || got.Cards[0].Job.Version != 2 || got.Cards[1].Job.ID != two {
		t.Errorf("cards %+v", got.Cards)
	}
	if len(got.Touched) != 2 || got.Touched[0].Count != 1 {
		t.Errorf("columns %+v", got.Touched)
	}
	if first.Cards[0].Job.Version != 1 || len(first.Cards) != 2 || first.Touched[0].Count != 2 {
		t.Errorf("the update of all readers was changed: %+v", first)
	}
}

// A person, a workspace and the process have so many streams and no more.
func TestStreamLimit(t *testing.T) {
	seats, here := quota.NewSeats(), ids.New()
	person := func(workspace ids.ID) tenancy.Principal {
		return tenancy.Principal{Kind: tenancy.KindPerson, Account: ids.New(), Workspace: workspace}
	}
	me := person(here)
	fill := func(most int, who func() tenancy.Principal, what string) (leaves []func()) {
		for range most {
			leave, full := seats.Enter(askers(who(), 1)...)
			if full != nil {
				t.Fatalf("refused below the limit of %s", what)
			}
			leaves = append(leaves, leave)
		}
		if _, full := seats.Enter(askers(who(), 1)...); full == nil {
			t.Errorf("one stream of %s too many", what)
		}
		return leaves
	}
	mine := fill(StreamsPerPerson, func() tenancy.Principal { return me }, "one person")
	fill(streamsPerWorkspace-StreamsPerPerson, func() tenancy.Principal { return person(here) }, "one workspace")
	fill(streamsInAll-streamsPerWorkspace, func() tenancy.Principal { return person(ids.New()) }, "all")
	mine[0]()
	if _, full := seats.Enter(askers(me, 1)...); full != nil {
		t.Error("a place that was given back is not free")
	}
}
