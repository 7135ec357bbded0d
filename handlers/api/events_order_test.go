package api_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var errUndone = errors.New("undone")

// openTx begins a transaction that has written one event; end commits it, or
// undoes it.
func openTx(t *testing.T, w *apiServer, workspace ids.ID, kind string) (end func(commit bool)) {
	t.Helper()
	written, verdict, over := make(chan error, 1), make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(over)
		err := w.db.In(context.WithoutCancel(t.Context()), db.Workspace(workspace), func(tx db.Tx) error {
			written <- eventlog.AppendTx(context.WithoutCancel(t.Context()), tx, workspace, eventlog.Event{Type: eventlog.Type(kind), Actor: tenancy.Actor{Kind: tenancy.KindSystem, Name: "test"}})
			if !<-verdict {
				return errUndone
			}
			return nil
		})
		if err != nil && !errors.Is(err, errUndone) {
			t.Errorf("%s: %v", kind, err)
		}
	}()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	return func(commit bool) { verdict <- commit; <-over }
}

// Promise P6 over HTTP: events that were written earlier and are committed later
// come all the same, once, and in one order for the live stream, for one that is
// resumed at each event, and for GET /events.
func TestAStreamSkipsNothingThatIsCommittedLate(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	s := newLiveServer(w)
	workspace, ok := ids.Parse(dbfactory.Text(t, w.db, `SELECT workspace_id::text FROM job WHERE key = $1`, w.job("One")))
	if !ok {
		t.Fatal("no workspace")
	}
	live := s.open(w.owner, "?type=account.*")
	begin := live.next(func(m message) bool { return m.id != "" })
	late := []eventlog.Type{eventlog.AccountRenamed, eventlog.PasswordChanged, eventlog.SecondFactorOn, eventlog.SecondFactorOff}
	var ends []func(bool)
	for _, kind := range late {
		ends = append(ends, openTx(t, w, workspace, string(kind)))
	}
	// The last one that was begun commits first; the second never does.
	for _, n := range []int{3, 1, 2, 0} {
		page := w.send(request{token: w.owner, method: http.MethodGet, path: "/events?type=account.*&after=" + begin.id}) // waits for no transaction
		if page.want(200).count("items") != 0 {
			t.Errorf("before what was begun first has ended GET /events tells %s", page.raw)
		}
		ends[n](n != 1)
		w.job("a sign that something happened")
	}
	var order []message
	for range len(late) - 1 {
		order = append(order, live.next(isEvent))
	}
	if got := []string{order[0].event, order[1].event, order[2].event}; !slices.Equal(got, []string{string(late[0]), string(late[2]), string(late[3])}) {
		t.Errorf("the stream told %+v", order)
	}
	from := begin.id
	for _, want := range order {
		again := s.open(w.owner, "?type=account.*", "Last-Event-ID", from)
		if m := again.next(isEvent); m.id != want.id || m.event != want.event {
			t.Errorf("after %s came %s %s; want %s %s", from, m.event, m.id, want.event, want.id)
		}
		again.leave()
		from = want.id
	}
	page := w.as(w.owner, "GET", "/events?type=account.*&after="+begin.id, nil).want(200)
	if page.count("items") != len(late)-1 {
		t.Errorf("by GET /events: %s", page.raw)
	}
	for i, want := range order {
		if page.text("items", i, "type") != want.event {
			t.Errorf("by GET /events, %d: %s; want %s", i, page.text("items", i, "type"), want.event)
		}
	}
}
