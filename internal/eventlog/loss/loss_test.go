package loss_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/eventlog/loss"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/eventlog/witness"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// quiet tells nobody.
type quiet struct{}

func (quiet) Publish(...string) {}

func newLosses(t *testing.T) (*db.DB, ids.ID, *loss.Service) {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	return d, dbfactory.Workspace(t, d), loss.New(d, quiet{}, "mac/1/a")
}

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// events are those with ids from first to last, of the job FB-1.
func events(first, last int64) (list []witness.Event) {
	for id := first; id <= last; id++ {
		list = append(list, witness.Event{ID: id, At: at, Type: eventlog.JobProgressed, Key: "FB-1"})
	}
	return list
}

// Each missing event is written down once, however many servers had seen it and however often they look.
func TestALossIsWrittenDownOnceTogether(t *testing.T) {
	d, workspace, s := newLosses(t)
	var all errgroup.Group
	for range 4 {
		all.Go(func() error {
			_, err := s.RecordMissing(t.Context(), workspace, events(5, 7))
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	n, err := s.RecordMissing(t.Context(), workspace, events(6, 9))
	if n != 2 || err != nil {
		t.Errorf("%d events were new (%v); want 8 and 9", n, err)
	}
	list, err := s.List(t.Context(), dbfactory.Person(workspace, tenancy.RoleViewer))
	if err != nil || len(list) != 2 || list[1].Count != 3 || list[1].First != 5 || list[1].Last != 7 || list[0].First != 8 ||
		strings.Join(list[0].Jobs(), " ") != "FB-1" {
		t.Errorf("the losses are %+v (%v)", list, err)
	}
	if n := dbfactory.EventCount(t, d, string(eventlog.LogLost)); n != 2 {
		t.Errorf("%d events of losses; want 2", n)
	}
}

// Of a loss that is larger than what is kept by name, none is new afterwards.
func TestALargeLossIsKnownByItsRange(t *testing.T) {
	_, workspace, s := newLosses(t)
	first, err := s.RecordMissing(t.Context(), workspace, events(1, 3000))
	again, againErr := s.RecordMissing(t.Context(), workspace, events(1, 3000))
	if first != 3000 || again != 0 || err != nil || againErr != nil {
		t.Errorf("%d and then %d events were new (%v, %v); want 3000 and none", first, again, err, againErr)
	}
}

// A log that was cut is written down once for each block that it had.
func TestACutIsWrittenDownOnce(t *testing.T) {
	_, workspace, s := newLosses(t)
	for _, cut := range []seal.Cut{{Block: 12, Detail: "it ends at block 10"}, {Block: 12, Detail: "it ends at block 11"}} {
		cut.Workspace = workspace
		if err := s.RecordCut(t.Context(), cut); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.List(t.Context(), dbfactory.Person(workspace, tenancy.RoleViewer)); err != nil || len(list) != 1 {
		t.Errorf("the losses are %+v (%v); want one", list, err)
	}
}

// Owners and admins say that a loss is known; it is asked about no more, and stays.
func TestALossIsNoted(t *testing.T) {
	d, workspace, s := newLosses(t)
	if _, err := s.RecordMissing(t.Context(), workspace, events(1, 1)); err != nil {
		t.Fatal(err)
	}
	open := func() (n int) {
		t.Helper()
		err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
			list, err := loss.OpenTx(t.Context(), tx, workspace)
			n = len(list)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := s.Note(t.Context(), dbfactory.Person(workspace, tenancy.RoleMember)); fault.From(err).Code != fault.Forbidden || open() != 1 {
		t.Errorf("a member noted it: %v", err)
	}
	for _, want := range []int{1, 0} {
		if n, err := s.Note(t.Context(), dbfactory.Person(workspace, tenancy.RoleAdmin)); n != want || err != nil {
			t.Errorf("noted %d (%v); want %d", n, err, want)
		}
	}
	list, err := s.List(t.Context(), dbfactory.Person(workspace, tenancy.RoleViewer))
	if open() != 0 || len(list) != 1 || list[0].NotedAt == nil || err != nil || dbfactory.EventCount(t, d, string(eventlog.LossNoted)) != 1 {
		t.Errorf("%d are open, the losses are %+v (%v)", open(), list, err)
	}
}
