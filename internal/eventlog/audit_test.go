package eventlog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// did appends what somebody did, at a given hour of a past day.
func did(t *testing.T, d *db.DB, who tenancy.Principal, hour int, e eventlog.Event) {
	t.Helper()
	e.Actor = who.Actor()
	appendTo(t, d, who.Workspace, e)
	dbfactory.Exec(t, d, `UPDATE event SET at = '2026-03-01'::timestamptz + make_interval(hours => $1)
		WHERE id = (SELECT max(id) FROM event)`, hour)
}

// names returns what of the audit is seen: type and actor.
func names(list []eventlog.Event) (names []string) {
	for _, e := range list {
		names = append(names, string(e.Type)+" "+e.Actor.Name)
	}
	return names
}

// The audit holds what people did beside jobs, and nothing of jobs, agents and
// loops; the newest first, part by part.
func TestTheAuditHoldsWhatPeopleDidInSettings(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace, log := dbfactory.Workspace(t, d), eventlog.New(d, nil)
	ada, bob := dbfactory.Person(workspace, tenancy.RoleOwner), dbfactory.Person(workspace, tenancy.RoleAdmin)
	ada.Name, bob.Name = "Ada", "Bob"
	of := job(t, d, workspace)
	did(t, d, ada, 1, eventlog.Event{Type: eventlog.MemberInvited, Payload: []byte(`{"email":"bob@example.org"}`)})
	did(t, d, bob, 2, eventlog.Event{Type: eventlog.MemberJoined})
	did(t, d, ada, 3, eventlog.Event{Type: eventlog.JobPaused, JobID: &of})
	did(t, d, bob, 5, eventlog.Event{Type: eventlog.TokenIssued})
	did(t, d, ada, 4, eventlog.Event{Type: eventlog.MemberRoleChanged, Changes: []eventlog.Change{{Field: "role", Old: "member", New: "admin"}}})
	did(t, d, tenancy.System(workspace, "coordinator"), 6, eventlog.Event{Type: eventlog.AgentDied})
	did(t, d, tenancy.System(workspace, "keys"), 7, eventlog.Event{Type: eventlog.KeyRotationDone})
	did(t, d, dbfactory.Enrolment(workspace), 8, eventlog.Event{Type: eventlog.AgentRegistered})
	stranger := dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleOwner)
	did(t, d, stranger, 9, eventlog.Event{Type: eventlog.TokenRevoked})

	want := []string{"key.rotation_done keys", "token.issued Bob", "member.role_changed Ada", "member.joined Bob", "member.invited Ada"}
	var got []string
	place := eventlog.AuditPlace{}
	for range 3 {
		list, older, err := log.Audit(t.Context(), ada, eventlog.Filter{}, place, 2)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, names(list)...)
		if older == (eventlog.AuditPlace{}) {
			break
		}
		if place, err = eventlog.ParseAuditPlace(older.String()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	for _, c := range []struct {
		filter eventlog.Filter
		want   []string
	}{
		{eventlog.Filter{Actors: []string{"Bob"}}, []string{"token.issued Bob", "member.joined Bob"}},
		{eventlog.Filter{Types: []string{"member.*"}}, []string{"member.role_changed Ada", "member.joined Bob", "member.invited Ada"}},
		{eventlog.Filter{Types: []string{"member.*"}, Actors: []string{"Ada"}}, []string{"member.role_changed Ada", "member.invited Ada"}},
		{eventlog.Filter{Actors: []string{"%"}}, nil},
	} {
		list, _, err := log.Audit(t.Context(), ada, c.filter, eventlog.AuditPlace{}, 10)
		if diff := cmp.Diff(c.want, names(list)); diff != "" || err != nil {
			t.Errorf("%+v: %v (-want +got):\n%s", c.filter, err, diff)
		}
	}
}

func TestTheAuditIsForThoseWhoManage(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	for role, may := range map[tenancy.Role]bool{tenancy.RoleOwner: true, tenancy.RoleAdmin: true, tenancy.RoleMember: false, tenancy.RoleViewer: false} {
		_, _, err := eventlog.New(d, nil).Audit(t.Context(), dbfactory.Person(workspace, role), eventlog.Filter{}, eventlog.AuditPlace{}, 10)
		if may && err != nil || !may && !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v", role, err)
		}
	}
}

func TestAPlaceInTheAuditIsOneOfOurs(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"1", "-", "1-", "-1-1", "1--1", "a-b", "1-1-1", "253370764800000001-1", "9223372036854775808-1"} {
		if _, err := eventlog.ParseAuditPlace(s); !fault.Is(err, fault.Malformed) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// However many events of jobs there are, and whatever is known of them, the
// audit is the end of its own index.
func TestTheAuditIsReadAlongItsIndex(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	fill := func(n int) {
		dbfactory.Exec(t, d, `INSERT INTO event (workspace_id, type, job_id, actor, actor_kind)
			SELECT $1, 'job.claimed', gen_random_uuid(), 'claude', 'agent' FROM generate_series(1, $2::int)`, workspace, n)
		dbfactory.Exec(t, d, `INSERT INTO event (workspace_id, type, actor, actor_kind)
			SELECT $1, 'member.invited', 'Ada', 'person' FROM generate_series(1, $2::int / 50)`, workspace, n)
	}
	forget := `DELETE FROM pg_statistic WHERE starelid = 'event'::regclass;
		UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE oid = 'event'::regclass;
		UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'event'::regclass)`
	dbfactory.Exec(t, d, `ALTER TABLE event SET (autovacuum_enabled = false)`)
	fill(100)
	dbfactory.Exec(t, d, `ANALYZE event`)
	fill(100_000)
	for _, state := range []struct{ when, sql string }{
		{"statistics of a small table", `SELECT 1`}, {"fresh statistics", `ANALYZE event`}, {"no statistics", forget},
	} {
		dbfactory.Exec(t, d, state.sql)
		for what, p := range map[string]dbsqlc.AuditEventsParams{
			"the newest":     {Types: []string{}, Actors: []string{}},
			"one person's":   {Types: []string{}, Actors: []string{"Ada"}},
			"of some kinds":  {Types: []string{"member.%", "invitation.%"}, Actors: []string{}},
			"nobody's":       {Types: []string{}, Actors: []string{"Nobody"}},
			"kinds not done": {Types: []string{"key.%"}, Actors: []string{}},
		} {
			p.WorkspaceID, p.BeforeAt, p.BeforeID, p.MaxRows = workspace, time.Now().Add(time.Hour), 1<<62, 51
			var plan string
			err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
				_, err := dbsqlc.New().AuditEvents(t.Context(), planned{tx, t, &plan}, p)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(plan, "Index Scan Backward using event_audit") || !strings.Contains(plan, "(ROW(at, id) <") ||
				strings.Contains(plan, "Sort") || strings.Contains(plan, "Seq Scan") {
				t.Error(fmt.Sprintf("%s, %s:\n", what, state.when) + plan)
			}
		}
	}
}
