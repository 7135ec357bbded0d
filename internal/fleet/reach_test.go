package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// What decides where a job could run says the same of it as the whole fleet does:
// of factories that drain, without agents, with ended and silent ones, and with
// agents that can different things.
func TestReachDecidesAsTheWholeFleet(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	silent := []string{"1 second", "14 minutes", "16 minutes", "1 hour"} // dead after 30 intervals of 30 s
	for n := range 40 {
		name := fmt.Sprint("factory-", n)
		dbfactory.Exec(t, d, `INSERT INTO factory (workspace_id, id, name, os, capabilities, draining, drained_at)
			VALUES ($1, gen_random_uuid(), $2, 'linux', $3, $4, CASE WHEN $4 THEN now() END)`, workspace, name, [][]string{{}, {"gpu"}}[n%2], n%5 == 0)
		for k := range n % 4 {
			dbfactory.Exec(t, d, `INSERT INTO agent (workspace_id, id, factory_id, name, boot_id, capabilities, last_heartbeat_at, terminated_at, ended_gracefully)
				SELECT $1, gen_random_uuid(), id, name || '-' || $3::int, 'b', $4, now() - $5::text::interval, CASE WHEN $6 THEN now() END, $7
				FROM factory WHERE workspace_id = $1 AND name = $2`,
				workspace, name, k, [][]string{{}, {"db"}, {"db", "web"}}[(n+k)%3], silent[(n/3+k)%4], (n+k)%7 == 0, (n+k)%2 == 0)
		}
	}
	s, who := fleet.NewService(d, nil), dbfactory.Person(workspace, tenancy.RoleMember)
	whole, err := s.Snapshot(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	reach := func(needs ...fleet.Needs) fleet.Snapshot {
		snap, err := s.ReducedSnapshot(t.Context(), who, needs...)
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	reasons := map[string]bool{}
	all := []fleet.Needs{{}, {Capabilities: []string{"gpu"}}, {Capabilities: []string{"db"}}, {Capabilities: []string{"gpu", "web"}},
		{Factory: "factory-7"}, {Repo: "nowhere"}}
	ofAll := reach(all...)
	for _, needs := range all {
		want := decided(whole.Route(needs))
		for what, snap := range map[string]fleet.Snapshot{"its own": reach(needs), "that of all": ofAll} {
			if diff := cmp.Diff(want, decided(snap.Route(needs))); diff != "" {
				t.Errorf("%+v: the whole fleet (-) and %s reach (+) decide otherwise:\n%s", needs, what, diff)
			}
		}
		for _, one := range want {
			reasons[strings.Fields(one)[1]] = true
		}
	}
	if len(reasons) != 5 {
		t.Errorf("only these were met: %v", reasons)
	}
}

// decided returns what a routing says of each factory.
func decided(r fleet.Routing) []string {
	var list []string
	for _, f := range r.Eligible {
		list = append(list, f.Factory.Name+" runs it")
	}
	for _, f := range r.Ineligible {
		list = append(list, fmt.Sprint(f.Factory.Name, " ", f.Reason, " ", f.Missing))
	}
	return list
}
