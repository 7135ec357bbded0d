package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// addAgent makes an agent with the default interval that was last seen some
// seconds ago.
func addAgent(t *testing.T, d *db.DB, workspace ids.ID, name string, silent int) {
	t.Helper()
	dbfactory.Exec(t, d, `INSERT INTO factory (workspace_id, id, name) VALUES ($1, gen_random_uuid(), 'mac-1') ON CONFLICT DO NOTHING`, workspace)
	dbfactory.Exec(t, d, `INSERT INTO agent (workspace_id, id, factory_id, name, boot_id, last_heartbeat_at)
		SELECT $1, gen_random_uuid(), id, $2, 'b', clock_timestamp() - make_interval(secs => $3)
		FROM factory WHERE workspace_id = $1`, workspace, name, silent)
}

// heard moves an agent's last sign of life.
func heard(t *testing.T, d *db.DB, name string, secondsAgo int) {
	t.Helper()
	dbfactory.Exec(t, d, `UPDATE agent SET last_heartbeat_at = clock_timestamp() - make_interval(secs => $2) WHERE name = $1`, name, secondsAgo)
}

// look asserts how many deaths one look reports.
func look(t *testing.T, m *term, deaths int) {
	t.Helper()
	if n, err := m.checkHealth(t.Context()); n != deaths || err != nil {
		t.Errorf("%d deaths were told, %v; want %d", n, err, deaths)
	}
}

// told returns the events about agents in a workspace, oldest first: the type, the
// agent and the healths.
func told(t *testing.T, d *db.DB, workspace ids.ID) []string {
	t.Helper()
	all := dbfactory.Text(t, d, `SELECT coalesce(string_agg(concat_ws(' ', e.type, e.payload->>'agent', e.payload->>'factory', e.actor,
			(c->>'old') || '-' || (c->>'new')), E'\n' ORDER BY e.id), '')
		FROM event e, jsonb_array_elements(e.changes) c WHERE e.workspace_id = $1 AND c->>'field' = 'health'`, workspace)
	return strings.FieldsFunc(all, func(r rune) bool { return r == '\n' })
}

// An agent's way into death and back stands in the log step by step, each step
// once; that it is a little late only pages show.
func TestTheHealthOfAgentsStandsInTheLog(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	ws := dbfactory.Workspace(t, d)
	wake := &topics{}
	m := termOf(t, d, wake)
	addAgent(t, d, ws, "claude-1", 0)
	for _, step := range []struct {
		silent, deaths, published int
	}{{29, 0, 0}, {31, 0, 2}, {32, 0, 0}, {101, 0, 2}, {299, 0, 0}, {301, 1, 2}, {9000, 0, 0}, {1, 0, 2}, {2, 0, 0},
		{400, 1, 2}, {150, 0, 2}, {40, 0, 2}} {
		heard(t, d, "claude-1", step.silent)
		look(t, m, step.deaths)
		if list := wake.take(); len(list) != step.published || len(list) == 2 && (list[0] != fleet.Topic(ws) || list[1] != eventlog.Topic(ws)) {
			t.Errorf("after %d s of silence it published %q", step.silent, list)
		}
	}
	want := []string{"agent.went_stale claude-1 mac-1 health warn-stale", "agent.died claude-1 mac-1 health stale-dead", "agent.revived claude-1 mac-1 health dead-healthy",
		"agent.died claude-1 mac-1 health healthy-dead", "agent.went_stale claude-1 mac-1 health dead-stale", "agent.revived claude-1 mac-1 health stale-warn"}
	if list := told(t, d, ws); !slices.Equal(list, want) {
		t.Errorf("the log says %q; want %q", list, want)
	}
}

// The coordinator's lines name the dead to their own workspace. Who leads next
// reports nothing again and misses nobody.
func TestDeathsAreToldOnceToTheirWorkspace(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	mine, theirs := dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)
	m := termOf(t, d, &topics{})
	addAgent(t, d, mine, "claude-1", 302)
	addAgent(t, d, mine, "ended", 302)
	dbfactory.Exec(t, d, `UPDATE agent SET terminated_at = now() WHERE name = 'ended'`)
	addAgent(t, d, theirs, "stale", 102)
	look(t, m, 1)
	if list := messages(t, m.Service, dbfactory.Person(mine, tenancy.RoleAdmin)); !slices.Equal(list, []string{"claude-1 of mac-1 is dead: no heartbeat came in time."}) {
		t.Errorf("the log says %q", list)
	}
	if list := messages(t, m.Service, dbfactory.Person(theirs, tenancy.RoleOwner)); len(list) != 0 {
		t.Errorf("another workspace reads %q", list)
	}
	// Two die while nobody leads, and there is nothing that the next one remembers.
	addAgent(t, d, mine, "claude-2", 5000)
	heard(t, d, "stale", 700)
	next := &term{Service: m.Service, Term: m.Term, counters: newCounters()}
	look(t, next, 2)
	look(t, next, 0)
	if list := told(t, d, mine); len(list) != 2 || !strings.HasPrefix(list[1], "agent.died claude-2") {
		t.Errorf("the log says %q", list)
	}
}

// Two leaders that look at once report each death once between them.
func TestTwoLookersTellADeathOnce(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	ws := dbfactory.Workspace(t, d)
	m := termOf(t, d, &topics{})
	const agents = 40
	for i := range agents {
		addAgent(t, d, ws, fmt.Sprintf("claude-%02d", i), 500)
	}
	var sums [4]int
	var all sync.WaitGroup
	for i := range sums {
		all.Go(func() {
			for range 3 {
				n, err := m.checkHealth(context.WithoutCancel(t.Context()))
				if sums[i] += n; err != nil {
					t.Errorf("look: %v", err)
				}
			}
		})
	}
	all.Wait()
	if n := sums[0] + sums[1] + sums[2] + sums[3]; n != agents {
		t.Errorf("%d deaths were told; want %d", n, agents)
	}
	if n := len(told(t, d, ws)); n != agents {
		t.Errorf("%d events; want %d", n, agents)
	}
	if n := dbfactory.Int(t, d, `SELECT sum(jsonb_array_length(details->'agents'))::int FROM coordinator_log WHERE workspace_id = $1`, ws); n != agents {
		t.Errorf("the coordinator's lines name %d", n)
	}
}

// The database's rule of health is the one that pages and routing use.
func TestHealthIsOneRule(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for _, c := range []struct{ interval, stale int }{{10, 0}, {1, 0}, {7, 0}, {10, 100}, {10, 10}, {60, 45}} {
		a := fleet.Agent{HeartbeatIntervalSeconds: c.interval}
		deadAfter := c.interval * 30
		if c.stale > 0 {
			a.StaleAfterSeconds, deadAfter = &c.stale, c.stale*3
		}
		all := dbfactory.Text(t, d, `SELECT string_agg(agent_health('epoch', $1, 'epoch'::timestamptz + make_interval(secs => age)), ' ' ORDER BY age)
			FROM generate_series(0, $1 + 1) age`, deadAfter)
		for age, got := range strings.Fields(all) {
			if want := a.HealthAt(a.LastHeartbeatAt.Add(time.Duration(age) * time.Second)); got != string(want) {
				t.Fatalf("%+v: %s in the database and %s here after %d s", c, got, want, age)
			}
		}
	}
}

// Two that delete old lines at once delete each once.
func TestTwoMayExpireTheLogAtOnce(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	m := termOf(t, d, &topics{})
	ws := dbfactory.Workspace(t, d)
	dbfactory.Exec(t, d, `INSERT INTO coordinator_log (workspace_id, instance_id, term, level, message, at)
		SELECT w, 'x', 1, 'INFO', 'old', now() - interval '31 days' FROM generate_series(1, 1000), unnest(ARRAY[NULL, $1::uuid]) w`, ws)
	sums := make(chan int, 2)
	for range 2 {
		go func() {
			n, err := m.expireLog(t.Context())
			if err != nil {
				t.Errorf("expire: %v", err)
			}
			sums <- n
		}()
	}
	if n := <-sums + <-sums; n != 2000 {
		t.Errorf("together they deleted %d lines; want 2000", n)
	}
}
