package eventlog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func typesOf(list []eventlog.Event) []string {
	names := []string{}
	for _, e := range list {
		names = append(names, string(e.Type))
	}
	return names
}

// forwards reads everything that fits, in pages.
func forwards(t *testing.T, log *eventlog.Log, who tenancy.Principal, f eventlog.Filter, limit int) []string {
	t.Helper()
	var all []string
	at := eventlog.Cursor{}
	for range 100 {
		list, next, err := log.TailFiltered(t.Context(), who, f, at, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > limit || next.Before(at) {
			t.Fatalf("%d events, from %s to %s", len(list), at, next)
		}
		if next == at {
			return all
		}
		all, at = append(all, typesOf(list)...), next
	}
	t.Fatal("the log has no end")
	return nil
}

// backwards does the same from the end to the beginning.
func backwards(t *testing.T, log *eventlog.Log, who tenancy.Principal, f eventlog.Filter, limit int) []string {
	t.Helper()
	var all []string
	at := eventlog.Cursor{}
	for range 100 {
		list, next, err := log.Older(t.Context(), who, f, at, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > limit {
			t.Fatalf("%d events; want at most %d", len(list), limit)
		}
		all = append(all, typesOf(list)...)
		if next == (eventlog.Cursor{}) {
			slices.Reverse(all)
			return all
		}
		at = next
	}
	t.Fatal("the log has no beginning")
	return nil
}

// In pages of any size, forwards and backwards, with every filter, each event
// that fits comes once and in the same order.
func TestTheLogIsReadInPagesBothWays(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	dbfactory.AnyFacts(t, d)
	workspace, other := dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)
	first, second := ids.New(), ids.New()
	for i, name := range []string{"job.created", "job.timed_out", "jobs.odd", "product.saved", "job.timedXout", "agent.registered",
		"job.created", "job.edited", "factory.drained", "job.progressed"} {
		e := eventlog.Event{Type: eventlog.Type(name), Actor: tenancy.Actor{Kind: tenancy.KindPerson, Name: []string{"Ada", "Mara"}[i%2]}}
		if strings.HasPrefix(name, "job.") {
			e.JobID = []*ids.ID{&first, &second}[i%2]
		}
		appendTo(t, d, workspace, e)
		appendTo(t, d, other, e)
	}
	settle(t, d)
	log, who := eventlog.New(d, nil), tenancy.System(workspace, "test")
	for _, c := range []struct {
		filter eventlog.Filter
		want   []string
	}{
		{eventlog.Filter{}, []string{"job.created", "job.timed_out", "jobs.odd", "product.saved", "job.timedXout",
			"agent.registered", "job.created", "job.edited", "factory.drained", "job.progressed"}},
		{eventlog.Filter{Quiet: true}, []string{"job.created", "job.timed_out", "jobs.odd", "product.saved", "job.timedXout",
			"agent.registered", "job.created", "job.edited", "factory.drained"}},
		{eventlog.Filter{Types: []string{"job.*"}}, []string{"job.created", "job.timed_out", "job.timedXout", "job.created", "job.edited",
			"job.progressed"}},
		{eventlog.Filter{Types: []string{"job.*"}, Quiet: true}, []string{"job.created", "job.timed_out", "job.timedXout", "job.created",
			"job.edited"}},
		{eventlog.Filter{Types: []string{"job.timed_out", "product.saved"}}, []string{"job.timed_out", "product.saved"}},
		{eventlog.Filter{Types: []string{"job%"}}, nil},
		{eventlog.Filter{Types: []string{"*"}}, nil},
		{eventlog.Filter{Actors: []string{"Mara"}}, []string{"job.timed_out", "product.saved", "agent.registered", "job.edited", "job.progressed"}},
		{eventlog.Filter{Actors: []string{"Mara"}, Types: []string{"job.*", "agent.*"}}, []string{"job.timed_out", "agent.registered", "job.edited",
			"job.progressed"}},
		{eventlog.Filter{Jobs: []ids.ID{first}}, []string{"job.created", "job.timedXout", "job.created"}},
		{eventlog.Filter{Jobs: []ids.ID{first}, Types: []string{"job.created"}}, []string{"job.created", "job.created"}},
		{eventlog.Filter{Jobs: []ids.ID{second}, Actors: []string{"Ada"}}, nil},
		{eventlog.Filter{Jobs: []ids.ID{second}, Quiet: true}, []string{"job.timed_out", "job.edited"}},
	} {
		for _, limit := range []int{1, 2, 3, 200} {
			if diff := cmp.Diff(c.want, forwards(t, log, who, c.filter, limit)); diff != "" {
				t.Errorf("forwards by %d, %+v (-want +got):\n%s", limit, c.filter, diff)
			}
			if diff := cmp.Diff(c.want, backwards(t, log, who, c.filter, limit)); diff != "" {
				t.Errorf("backwards by %d, %+v (-want +got):\n%s", limit, c.filter, diff)
			}
		}
	}
}

// A page backwards that ends with the first event of the log says that it does.
func TestThePlaceAfterTheFirstEventIsNone(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	dbfactory.AnyFacts(t, d)
	workspace := dbfactory.Workspace(t, d)
	bulk(t, d, workspace, 4)
	log, who := eventlog.New(d, nil), tenancy.System(workspace, "test")
	if list, next, err := log.Older(t.Context(), who, eventlog.Filter{}, eventlog.Cursor{}, 4); err != nil || len(list) != 4 || next != (eventlog.Cursor{}) {
		t.Errorf("the whole log: %d events, then %q, %v; want 4 and nothing after them", len(list), next, err)
	}
	if list, next, err := log.Older(t.Context(), who, eventlog.Filter{}, eventlog.Cursor{}, 3); err != nil || len(list) != 3 || next == (eventlog.Cursor{}) {
		t.Errorf("all but the first: %d events, then %q, %v; want 3 and a place", len(list), next, err)
	}
}

// A filter that fits almost nothing reads the log in bounded pieces: a call may
// come back with nothing and a place farther on, and reading on finds the rest.
func TestAFilterThatFitsLittleGivesAPlaceToGoOnFrom(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	dbfactory.AnyFacts(t, d)
	workspace := dbfactory.Workspace(t, d)
	const n = 45_000
	bulk(t, d, workspace, n)
	log, who := eventlog.New(d, nil), tenancy.System(workspace, "test")
	f := eventlog.Filter{Types: []string{"bulk.1", "bulk.45000", "bulk.22000"}}
	list, next, err := log.TailFiltered(t.Context(), who, eventlog.Filter{Types: []string{"bulk.45000"}}, eventlog.Cursor{}, 10)
	if err != nil || len(list) != 0 || next == (eventlog.Cursor{}) {
		t.Errorf("one call: %v, place %s, %v; want nothing and a place in the middle", typesOf(list), next, err)
	}
	list, next, err = log.Older(t.Context(), who, eventlog.Filter{Types: []string{"bulk.1"}}, eventlog.Cursor{}, 10)
	if err != nil || len(list) != 0 || next == (eventlog.Cursor{}) {
		t.Errorf("one call backwards: %v, place %s, %v; want nothing and a place in the middle", typesOf(list), next, err)
	}
	want := []string{"bulk.1", "bulk.22000", "bulk.45000"}
	if diff := cmp.Diff(want, forwards(t, log, who, f, 2)); diff != "" {
		t.Errorf("forwards (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, backwards(t, log, who, f, 2)); diff != "" {
		t.Errorf("backwards (-want +got):\n%s", diff)
	}
}

// A page without progress is full in one call, however much progress lies between its events.
func TestAPageIsFullDespiteProgress(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	dbfactory.AnyFacts(t, d)
	workspace := dbfactory.Workspace(t, d)
	bulk(t, d, workspace, 6000)
	dbfactory.Exec(t, d, `UPDATE event SET type = 'job.progressed' WHERE type NOT IN ('bulk.1000', 'bulk.2500', 'bulk.5500')`)
	log, who, f := eventlog.New(d, nil), tenancy.System(workspace, "test"), eventlog.Filter{Quiet: true}
	for what, read := range map[string]func() ([]eventlog.Event, eventlog.Cursor, error){
		"tail": func() ([]eventlog.Event, eventlog.Cursor, error) {
			return log.TailFiltered(t.Context(), who, f, eventlog.Cursor{}, 3)
		},
		"older": func() ([]eventlog.Event, eventlog.Cursor, error) {
			return log.Older(t.Context(), who, f, eventlog.Cursor{}, 3)
		},
	} {
		if list, _, err := read(); err != nil || len(list) != 3 {
			t.Errorf("%s: %v, %v; want three events", what, typesOf(list), err)
		}
	}
}

// What a transaction that still runs may yet write, and what it wrote, is
// shown to nobody, in neither direction.
func TestNothingIsShownThatCanStillChange(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	dbfactory.AnyFacts(t, d)
	workspace := dbfactory.Workspace(t, d)
	log, who := eventlog.New(d, nil), tenancy.System(workspace, "test")
	err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
		if err := eventlog.AppendTx(t.Context(), tx, workspace, event(1)); err != nil {
			return err
		}
		appendTo(t, d, workspace, event(2))
		for _, f := range []eventlog.Filter{{}, {Types: []string{"test.*"}}} {
			if list, _, err := log.Older(t.Context(), who, f, eventlog.Cursor{}, 10); err != nil || len(list) != 0 {
				t.Errorf("older, %+v: %v, %v; want nothing yet", f, typesOf(list), err)
			}
			if list, _, err := log.TailFiltered(t.Context(), who, f, eventlog.Cursor{}, 10); err != nil || len(list) != 0 {
				t.Errorf("tail, %+v: %v, %v; want nothing yet", f, typesOf(list), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
