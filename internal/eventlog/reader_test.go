package eventlog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// An agent gets the log without settings, in pages of any size and both ways,
// each event once; also where a long stretch of the log is nothing but settings.
func TestAnAgentsLogHasNoSettings(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	job := ids.New()
	add := func(kind, actor string, of *ids.ID) {
		appendTo(t, d, workspace, eventlog.Event{Type: eventlog.Type(kind), Actor: tenancy.Actor{Kind: tenancy.Kind(actor), Name: "Ada"}, JobID: of})
	}
	add("token.issued", "system", nil)
	add("agent.registered", "agent", nil)
	add("job.created", "person", &job)
	for i := range 500 {
		add([]string{"member.invited", "product.saved", "key.rotation_done"}[i%3], []string{"person", "person", "system"}[i%3], nil)
	}
	add("job.claimed", "agent", &job)
	add("agent.died", "system", nil)
	add("factory.drained", "person", nil)
	settle(t, d)

	log := eventlog.New(d, nil)
	agent := tenancy.Principal{Kind: tenancy.KindAgent, Workspace: workspace}
	all := []string{"agent.registered", "job.created", "job.claimed", "agent.died"}
	for _, c := range []struct {
		filter eventlog.Filter
		want   []string
	}{
		{eventlog.Filter{}, all},
		{eventlog.Filter{Types: []string{"job.*", "member.*", "key.*"}}, []string{"job.created", "job.claimed"}},
		{eventlog.Filter{Actors: []string{"Ada"}}, all},
		{eventlog.Filter{Jobs: []ids.ID{job}}, []string{"job.created", "job.claimed"}},
	} {
		for _, limit := range []int{1, 2, 3, 4, 200} {
			if diff := cmp.Diff(c.want, forwards(t, log, agent, c.filter, limit)); diff != "" {
				t.Errorf("forwards by %d, %+v (-want +got):\n%s", limit, c.filter, diff)
			}
			if diff := cmp.Diff(c.want, backwards(t, log, agent, c.filter, limit)); diff != "" {
				t.Errorf("backwards by %d, %+v (-want +got):\n%s", limit, c.filter, diff)
			}
		}
	}
	if all := forwards(t, log, dbfactory.Person(workspace, tenancy.RoleViewer), eventlog.Filter{}, 7); len(all) != 506 {
		t.Errorf("a viewer reads %d events; want all 506", len(all))
	}
}

// E-mail addresses that the page of members keeps from a reader are kept from
// him in the log as well; the rest of the event stays.
func TestAddressesAreForThoseWhoManageMembers(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	hidden := []eventlog.Type{eventlog.MemberInvited, eventlog.InvitationRevoked, eventlog.IdentityLinked, eventlog.IdentityUnlinked}
	for _, kind := range append(slices.Clone(hidden), eventlog.MemberRemoved) {
		appendTo(t, d, workspace, eventlog.Event{Type: kind, Actor: tenancy.Actor{Kind: tenancy.KindPerson, Name: "Ada"},
			Payload: json.RawMessage(fmt.Sprintf(`{"role": "member", "email": "%s@example.org"}`, kind))})
	}
	settle(t, d)
	log := eventlog.New(d, nil)
	for role, sees := range map[tenancy.Role]bool{tenancy.RoleViewer: false, tenancy.RoleMember: false, tenancy.RoleAdmin: true, tenancy.RoleOwner: true} {
		who := dbfactory.Person(workspace, role)
		tail, _, err := log.TailFiltered(t.Context(), who, eventlog.Filter{}, eventlog.Cursor{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		older, _, err := log.Older(t.Context(), who, eventlog.Filter{Actors: []string{"Ada"}}, eventlog.Cursor{}, 10)
		if err != nil || len(tail) != 5 || len(older) != 5 {
			t.Fatalf("%s reads %d and %d events, %v; want 5", role, len(tail), len(older), err)
		}
		for _, e := range append(tail, older...) {
			said := strings.Contains(string(e.Payload), "@example.org")
			if want := sees || !slices.Contains(hidden, e.Type); said != want {
				t.Errorf("%s reads the address in %s: %t, want %t", role, e.Type, said, want)
			}
			if !strings.Contains(string(e.Payload), `"role"`) {
				t.Errorf("%s: %s has lost the rest of %s", role, e.Type, e.Payload)
			}
		}
	}
}
