package coordinator

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// queueWorld is a coordinator with a workspace whose past a test writes.
type queueWorld struct {
	*term

	t         *testing.T
	workspace ids.ID
}

func newQueueWorld(t *testing.T) *queueWorld {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	return &queueWorld{&term{Service: &Service{db: d}}, t, dbfactory.Workspace(t, d)}
}

// ago moves what was not summed up yet into the past.
func (w *queueWorld) ago(hours int) {
	w.t.Helper()
	dbfactory.Exec(w.t, w.db, `UPDATE job_count_change SET at = at - make_interval(hours => $1)`, hours)
	w.settle()
}

func (w *queueWorld) settle() {
	w.t.Helper()
	if _, err := w.sumUp(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// claim has n ready jobs claimed that had waited so long, each by a statement of its own or all by one.
func (w *queueWorld) claim(n int, waited time.Duration) {
	w.t.Helper()
	dbfactory.Exec(w.t, w.db, `UPDATE job SET ready_at = now() - make_interval(secs => $2) WHERE workspace_id = $1 AND status = 'ready'`,
		w.workspace, waited.Seconds())
	dbfactory.Exec(w.t, w.db, `UPDATE job SET status = 'assigned', assigned_at = now(), ready_at = NULL
		WHERE id IN (SELECT id FROM job WHERE workspace_id = $1 AND status = 'ready' LIMIT $2)`, w.workspace, n)
}

func (w *queueWorld) end(n int) {
	w.t.Helper()
	dbfactory.Exec(w.t, w.db, `UPDATE job SET status = 'running' WHERE workspace_id = $1 AND status = 'assigned'`, w.workspace)
	dbfactory.Exec(w.t, w.db, `UPDATE job SET status = 'completed'
		WHERE id IN (SELECT id FROM job WHERE workspace_id = $1 AND status = 'running' LIMIT $2)`, w.workspace, n)
}

func (w *queueWorld) queue() []QueueHour {
	w.t.Helper()
	list, err := w.Queue(w.t.Context(), dbfactory.Person(w.workspace, tenancy.RoleViewer))
	if err != nil || len(list) != QueueHours {
		w.t.Fatalf("%d hours, %v", len(list), err)
	}
	return list
}

func (w *queueWorld) want(hour int, ready, claims, ends int64) {
	w.t.Helper()
	list := w.queue()
	h := list[len(list)-1-hour]
	if !h.Known || h.Ready != ready || h.Claims != claims || h.Ends != ends {
		w.t.Errorf("%d hours ago: %+v; want %d ready, %d claims, %d ends", hour, h, ready, claims, ends)
	}
}

// Numbers are of the hour in which they came to be, however late they are summed up, and an hour
// in which no server ran is known from one in which nothing happened.
func TestTheQueueByHour(t *testing.T) {
	w := newQueueWorld(t)
	someJobs(t, w.db, w.workspace, 10, "ready")
	w.ago(20)
	w.claim(4, 90*time.Second)
	w.ago(19)
	w.end(3)
	w.ago(17)
	someJobs(t, w.db, w.workspace, 2, "ready")
	w.claim(1, time.Millisecond)
	w.want(17, 6, 0, 3) // what is not summed up yet is not told at all
	w.settle()
	w.want(20, 10, 0, 0)
	w.want(19, 6, 4, 0)
	w.want(17, 6, 0, 3)
	w.want(0, 7, 1, 0)
	for i, h := range w.queue() {
		if at := QueueHours - 1 - i; h.Known != (at == 20 || at == 19 || at == 17 || at == 0) {
			t.Errorf("%d hours ago: known %v", at, h.Known)
		}
		if _, minute, second := h.Begins.Clock(); minute != 0 || second != 0 || i > 0 && h.Begins.Sub(w.queue()[i-1].Begins) != time.Hour {
			t.Errorf("hour %d begins at %v", i, h.Begins)
		}
	}
	if err := w.markHours(time.Now)(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want(0, 7, 1, 0)
}

// An hour is marked once, and that of a new workspace as well; what no chart shows any more goes.
func TestHoursAreMarked(t *testing.T) {
	w := newQueueWorld(t)
	dbfactory.Exec(t, w.db, `INSERT INTO queue_hour (workspace_id, hour, kind, n) VALUES ($1, date_trunc('hour', now()) - interval '50 hours', 'up', 1)`, w.workspace)
	now := time.Now().Truncate(time.Hour)
	mark := w.markHours(func() time.Time { return now })
	for range 2 {
		if err := mark(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.want(0, 0, 0, 0)
	w.workspace = dbfactory.Workspace(t, w.db)
	if w.queue()[QueueHours-1].Known {
		t.Error("something is known of a new workspace")
	}
	if err := mark(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want(0, 0, 0, 0)
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM queue_hour`); n != 2 {
		t.Errorf("%d rows; want one of each workspace", n)
	}
	// Where our clock is ahead, our hour begins in the one before of the database: it is marked again.
	dbfactory.Exec(t, w.db, `DELETE FROM queue_hour`)
	now = now.Add(20 * time.Minute)
	if err := mark(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want(0, 0, 0, 0)
	stranger := tenancy.Principal{}
	if _, err := w.Queue(t.Context(), stranger); !fault.Is(err, fault.Forbidden) {
		t.Errorf("nobody reads it: %v", err)
	}
}

// An hour that has just begun is known until its mark comes, if the one before is; and numbers are
// never below nothing, as leases of before the upgrade would have them, whose claims nobody counted.
func TestHoursOfNoMark(t *testing.T) {
	hour := time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC) // the second time that it is 1:00 in New York
	for name, c := range map[string]struct {
		now    time.Time
		before []queueRow
		known  bool
	}{
		"just begun":              {hour.Add(16 * time.Minute), []queueRow{{hour.Add(-time.Hour), "up", 0, 1}}, true},
		"just begun, no one ran":  {hour.Add(time.Minute), []queueRow{{hour.Add(-2 * time.Hour), "up", 0, 1}}, false},
		"no mark came":            {hour.Add(18 * time.Minute), []queueRow{{hour.Add(-time.Hour), "up", 0, 1}}, false},
		"more leases than claims": {hour.Add(time.Hour - 1), []queueRow{{hour, "leases", 0, 5}, {hour, "waited", 3, 2}}, true},
	} {
		list := buildHours(append(c.before, queueRow{Hour: c.now, Kind: "depth", N: 7}))
		if last := list[QueueHours-1]; last.Known != c.known || !last.Begins.Equal(hour) || last.Ready != 7 || last.Ends != 0 {
			t.Errorf("%s: %+v", name, last)
		}
	}
}

// Waits are told to a tenth.
func TestWaitsAreToldToATenth(t *testing.T) {
	w := newQueueWorld(t)
	for _, waited := range []time.Duration{20 * time.Second, 40 * time.Second, 17 * time.Minute, 30 * time.Hour} {
		someJobs(t, w.db, w.workspace, 100, "ready")
		w.claim(60, waited)
		w.claim(40, 5*waited)
		w.settle()
		h := w.queue()[QueueHours-1]
		near := func(got, want time.Duration) bool { return got > want*9/10 && got < want*11/10 }
		if h.Claims != 100 || !near(h.P50, waited) || !near(h.P95, 5*waited) {
			t.Errorf("waited %v and five times as long: %d claims, p50 %v, p95 %v", waited, h.Claims, h.P50, h.P95)
		}
		dbfactory.Exec(t, w.db, `DELETE FROM queue_hour`)
	}
	for waited, want := range map[string]int{"0": 0, "-5": 0, "0.1": 0, "0.11": 1, "0.2": 4, "1e9": 100} {
		if got := dbfactory.Int(t, w.db, `SELECT wait_step($1::text::real)`, waited); got != want {
			t.Errorf("a wait of %s s is of step %d; want %d", waited, got, want)
		}
	}
}

// A workspace reads its own hours only.
func TestAWorkspaceReadsItsOwnHours(t *testing.T) {
	w := newQueueWorld(t)
	other := dbfactory.Workspace(t, w.db)
	someJobs(t, w.db, other, 5, "ready")
	w.settle()
	if h := w.queue()[QueueHours-1]; h.Known || h.Ready != 0 {
		t.Errorf("another workspace's queue is told: %+v", h)
	}
	err := w.db.In(t.Context(), db.Workspace(w.workspace), func(tx db.Tx) error {
		rows, err := queueHoursTx(t.Context(), tx, other, hoursAround(time.Now()))
		if len(rows) != 1 || rows[0].N != 0 {
			t.Errorf("another workspace's hours: %+v", rows)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
