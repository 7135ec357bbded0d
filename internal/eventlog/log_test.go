package eventlog_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func event(n int) eventlog.Event {
	return eventlog.Event{Type: eventlog.Type(fmt.Sprintf("test.%d", n)), Actor: tenancy.Actor{Kind: tenancy.KindSystem, Name: "test"}}
}

// tail reads until n events are there: a transaction that still runs anywhere
// on the server, say of another test that fills tables, keeps back what came after it.
func tail(t *testing.T, log *eventlog.Log, who tenancy.Principal, after eventlog.Cursor, n int) ([]eventlog.Event, eventlog.Cursor) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 12_000 {
		list, at, err := log.Tail(t.Context(), who, after, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) >= n {
			return list, at
		}
		<-tick.C
	}
	t.Fatalf("no %d events after two minutes", n)
	return nil, after
}

// An event whose id is lower but that is committed later is not skipped: the
// tail stops before it until its transaction has ended.
func TestTheTailWaitsForOlderTransactions(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	dbfactory.AnyFacts(t, d)
	workspace := dbfactory.Workspace(t, d)
	who := tenancy.System(workspace, "test")
	log := eventlog.New(d, nil)

	opened, held, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	commit := sync.OnceFunc(func() { close(held) })
	defer commit()
	go func() {
		done <- d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
			err := eventlog.AppendTx(t.Context(), tx, workspace, event(1))
			close(opened)
			<-held
			return err
		})
	}()
	<-opened
	err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
		return eventlog.AppendTx(t.Context(), tx, workspace, event(2))
	})
	if err != nil {
		t.Fatal(err)
	}
	list, at, err := log.Tail(t.Context(), who, eventlog.Cursor{}, 10)
	if err != nil || len(list) != 0 {
		t.Fatalf("while the first is open: %d events, %v; want none", len(list), err)
	}
	commit()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	list, at = tail(t, log, who, at, 2)
	if len(list) != 2 || list[0].Type != "test.1" || list[1].Type != "test.2" {
		t.Fatalf("afterwards: %v; want both in order", list)
	}
	if again, _, _ := log.Tail(t.Context(), who, at, 10); len(again) != 0 {
		t.Errorf("resumed after the last: %d events; want none", len(again))
	}
	back, err := eventlog.ParseCursor(list[0].Cursor.String())
	if err != nil {
		t.Fatal(err)
	}
	if rest, _, _ := log.Tail(t.Context(), who, back, 10); len(rest) != 1 || rest[0].Type != "test.2" {
		t.Errorf("resumed after the first: %v; want the second", rest)
	}
}

func TestAPageIsLiveFromItsHeadOn(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	dbfactory.AnyFacts(t, d)
	workspace := dbfactory.Workspace(t, d)
	var head eventlog.Cursor
	err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) (err error) {
		head, err = eventlog.HeadTx(t.Context(), tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
		return eventlog.AppendTx(t.Context(), tx, workspace, event(1))
	})
	if err != nil {
		t.Fatal(err)
	}
	if list, _ := tail(t, eventlog.New(d, nil), tenancy.System(workspace, "test"), head, 1); len(list) != 1 {
		t.Errorf("%d events after the head; want 1", len(list))
	}
}

func TestCursorsThatNobodyGaveOut(t *testing.T) {
	for _, s := range []string{"x", "1", "1-", "-1", "1-2-3", "1--2", "99999999999999999999-1"} {
		if _, err := eventlog.ParseCursor(s); !fault.Is(err, fault.Malformed) {
			t.Errorf("%q: %v; want malformed", s, err)
		}
	}
}
