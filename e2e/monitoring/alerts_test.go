package monitoring

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// breakage breaks what an alert watches.
type breakage struct {
	alert string
	// minutes is how long after that the alert is looked for.
	minutes int
	// vars are settings of the server, prepare is what is done while it is well.
	vars    map[string]string
	prepare func(w *world)
	// breaks is done twice, for what shows by going on, unless it is done once.
	breaks func(w *world)
	once   bool
	// broken says that the server shows it, which showed well before; nil is at once.
	broken func(well, now series) bool
}

var breakages = []breakage{
	{alert: "FleetboardAway", minutes: 3, breaks: func(w *world) { _ = w.app.Close() }},
	{alert: "FleetboardDatabaseAway", minutes: 3, breaks: func(w *world) { w.cut(true) }, broken: now(is(`fleetboard_database_up`, 0))},
	{alert: "FleetboardDatabaseErrors", minutes: 3, breaks: func(w *world) {
		w.cut(true)
		_, _ = w.Jobs.Get(w.Ctx, w.Owner, "DEF-1")
	}},
	{alert: "FleetboardErrors", minutes: 3, breaks: func(w *world) {
		w.cut(true)
		for range 5 {
			w.send(http.MethodGet, "/login", "", "")
		}
	}},
	{alert: "FleetboardConflicts", minutes: 3, prepare: func(w *world) {
		a, _ := w.agent("ada")
		w.Job("first")
		w.Claim(a)
	}, breaks: func(w *world) {
		_, r := w.agent("ada")
		for range 5 {
			w.send(http.MethodPost, "/api/v1/fleet/complete", r.Token, `{"job": "`+dbfactory.Text(w.T, w.DB, `SELECT key FROM job`)+`", "epoch": 99}`)
		}
	}},
	{alert: "FleetboardNobodyLeads", minutes: 3, breaks: (*world).hang, broken: now(over(`fleetboard_coordinator_cycle_age_seconds`, 60))},
	{alert: "FleetboardCoordinatorSlow", minutes: 3, once: true, breaks: (*world).slowSeals,
		broken: differ(`fleetboard_loop_duration_seconds_count{loop="seals"}`, `fleetboard_loop_duration_seconds_bucket{loop="seals",le="5"}`)},
	{alert: "FleetboardLoopFails", minutes: 3, once: true, breaks: (*world).slowSeals,
		broken: grew(`fleetboard_loop_failures_total{loop="seals"}`, 1)},
	{alert: "FleetboardLeasesOverdue", minutes: 3, once: true, breaks: func(w *world) {
		a, _ := w.agent("ada")
		w.Job("first")
		w.Claim(a)
		w.hold(`SELECT FROM job FOR UPDATE`) // whoever takes the lease back waits
		dbfactory.Exec(w.T, w.DB, `UPDATE job_lease SET expires_at = clock_timestamp() - interval '5 minutes'`)
	}, broken: now(over(`fleetboard_lease_longest_overdue_seconds`, 60))},
	{alert: "FleetboardAgentsStale", minutes: 3, breaks: func(w *world) { w.silent("dead_after_seconds / 2.0") },
		broken: now(over(`fleetboard_agents{health="stale"}`, 5))},
	{alert: "FleetboardFactoryDead", minutes: 3, breaks: func(w *world) { w.silent("dead_after_seconds * 2.0") },
		broken: now(over(`fleetboard_factories{state="dead"}`, 0))},
	{alert: "FleetboardAgentsRegisterFast", minutes: 1, breaks: func(w *world) {
		for range 120 { // workers that start over and over
			w.agent("ada")
		}
	}},
	{alert: "FleetboardQueueLong", minutes: 7, once: true, breaks: (*world).crowd, broken: now(over(`fleetboard_jobs{status="ready"}`, 50))},
	{alert: "FleetboardNothingClaimed", minutes: 23, prepare: func(w *world) {
		a, _ := w.agent("ada")
		w.Job("first")
		w.Claim(a)
	}, once: true, breaks: (*world).crowd, broken: now(over(`fleetboard_jobs{status="ready"}`, 50))},
	{alert: "FleetboardClaimsSlow", minutes: 2, prepare: func(w *world) { w.agent("ada"); w.Job("first") }, breaks: func(w *world) {
		a, _ := w.agent("ada")
		release := w.hold(`SELECT FROM agent FOR UPDATE`)
		time.AfterFunc(1500*time.Millisecond, release)
		_, _ = w.Dispatch.Claim(w.Ctx, a, claim.Request{})
		w.Job("next")
	}},
	{alert: "FleetboardJobsFail", minutes: 3, breaks: func(w *world) { w.fail(6) }},
	{alert: "FleetboardRetriesExhausted", minutes: 3, breaks: func(w *world) { w.fail(1) }},
	{alert: "FleetboardBudgetExhausted", minutes: 3, breaks: func(w *world) {
		nothing := spend.Nanos(0)
		_, _ = w.s.Budgets.Create(w.Ctx, w.Owner, budgets.Input{Name: "October", Scope: budgets.Workspace, Period: budgets.Month, Hard: true,
			Limits: budgets.Limits{Money: &nothing}})
		if _, err := w.s.Budgets.Foresee(w.Ctx); err != nil { // the loop does so each minute
			w.T.Fatal(err)
		}
	}, broken: now(over(`fleetboard_budgets{verdict="exhausted"}`, 0))},
	{alert: "FleetboardDeadLetters", minutes: 3, breaks: func(w *world) {
		a, _ := w.agent("ada")
		if _, err := w.s.Bus.Publish(w.Ctx, w.Owner, bus.Draft{Type: "custom.note", To: bus.Address{Kind: bus.ToAgent, Name: "ada"},
			Payload: []byte(`{"text": "hello"}`)}); err != nil {
			w.T.Fatal(err)
		}
		dbfactory.Readable(w.T, w.DB)
		for range bus.MaxDeliveries + 1 {
			if _, err := w.s.Bus.Read(w.Ctx, a, bus.Query{Limit: 10}); err != nil {
				w.T.Fatal(err)
			}
		}
	}, broken: grew(`fleetboard_messages_dead_total`, 0)},
	{alert: "FleetboardDeadOffers", minutes: 3, breaks: func(w *world) {
		w.agent("ada")
		j := w.Job("offered")
		factory, _ := ids.Parse(dbfactory.Text(w.T, w.DB, `SELECT id::text FROM factory`))
		if err := w.s.Announce.Dead(w.Ctx, transport.Offer{Workspace: w.Workspace, Job: j.ID, Version: int64(j.Version),
			Factory: factory, ExpiresAt: time.Now()}, 5); err != nil {
			w.T.Fatal(err)
		}
	}},
	{alert: "FleetboardSnapshotHeld", minutes: 15, once: true, breaks: func(w *world) {
		w.hold(`DECLARE c CURSOR FOR SELECT 1`)
	}, broken: now(over(`fleetboard_oldest_snapshot_seconds`, 2))},
}

// Each alert is silent beside a server that is well, and fires where what it watches is broken.
func TestAlertsFire(t *testing.T) {
	for _, b := range breakages {
		t.Run(b.alert, func(t *testing.T) {
			w := start(t, b.vars)
			w.until("a server leads", is(`fleetboard_coordinator_active`, 1))
			if b.prepare != nil {
				b.prepare(w)
			}
			well := w.until("its lists are fresh", func(series) bool { return true })
			var broken []series
			for i := range 2 {
				if i == 0 || !b.once {
					b.breaks(w)
				}
				if b.alert == "FleetboardAway" {
					broken = append(broken, series{})
					continue
				}
				if b.broken == nil {
					broken = append(broken, w.scrape())
				} else {
					broken = append(broken, w.until(b.alert, func(now series) bool { return b.broken(well, now) }))
				}
			}
			if b.alert == "FleetboardSnapshotHeld" {
				grow(broken[1])
			}
			fires(t, b.alert, b.minutes, well, broken...)
		})
	}
}

// grow has the age of a snapshot that is held grow by a second each second.
func grow(s series) {
	age, _ := strconv.ParseFloat(s[`fleetboard_oldest_snapshot_seconds`], 64)
	s[`fleetboard_oldest_snapshot_seconds`] = strconv.FormatFloat(age, 'f', 3, 64) + "+15"
}

// Every alert of the rules is broken by a test.
func TestEveryAlertIsBroken(t *testing.T) {
	broken := map[string]bool{"FleetboardWakeUpsInterrupted": true, "FleetboardBackupsFail": true} // by tests of their own
	for _, b := range breakages {
		broken[b.alert] = true
	}
	for _, alert := range alertsOfRules(t) {
		if !broken[alert] {
			t.Errorf("no test breaks what %s watches", alert)
		}
		delete(broken, alert)
	}
	for alert := range broken {
		t.Errorf("there is no alert %s", alert)
	}
}

func value(s series, name string) float64 {
	v, err := strconv.ParseFloat(s[name], 64)
	if err != nil {
		return -1
	}
	return v
}

func is(name string, want float64) func(series) bool {
	return func(s series) bool { return s[name] != "" && value(s, name) == want }
}

func over(name string, limit float64) func(series) bool {
	return func(s series) bool { return value(s, name) > limit }
}

// now looks at what is, whatever was before.
func now(is func(series) bool) func(well, now series) bool {
	return func(_, now series) bool { return is(now) }
}

// grew reports whether a counter has grown by more than by since the server was well. The counters of a
// process are those of all servers that tests have had in it.
func grew(name string, by float64) func(well, now series) bool {
	return func(well, now series) bool { return value(now, name)-max(value(well, name), 0) > by }
}

// differ reports whether one counter has grown by more than another.
func differ(one, other string) func(well, now series) bool {
	return func(well, now series) bool {
		return value(now, one)-max(value(well, one), 0) > value(now, other)-max(value(well, other), 0)
	}
}

// send sends a request; what comes back is counted by the server.
func (w *world) send(method, path, token, body string) {
	w.T.Helper()
	r, err := http.NewRequestWithContext(w.Ctx, method, w.app.URL()+path, strings.NewReader(body))
	if err != nil {
		w.T.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Cookie", "sid=of-somebody")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		w.T.Fatal(err)
	}
	_ = got.Body.Close()
	w.T.Logf("%s %s: %d", method, path, got.StatusCode)
}

// slowSeals has the database take longer for the horizon of the log than a statement may.
func (w *world) slowSeals() {
	dbfactory.Exec(w.T, w.DB, `CREATE OR REPLACE FUNCTION log_horizon() RETURNS xid8 LANGUAGE plpgsql STABLE AS
		$$ BEGIN PERFORM pg_sleep(20); RETURN '0'::xid8; END $$`)
	w.Job("something to seal")
}

// silent has twelve agents without a heartbeat for a time.
func (w *world) silent(since string) {
	for i := range 12 {
		w.agent("agent-" + strconv.Itoa(i))
	}
	dbfactory.Exec(w.T, w.DB, `UPDATE agent SET last_heartbeat_at = now() - make_interval(secs => `+since+`)`)
}

// crowd makes jobs that nobody claims.
func (w *world) crowd() {
	for range 60 {
		w.Job("one of many")
	}
}

// fail has jobs fail that have no try left.
func (w *world) fail(n int) {
	a, _ := w.agent("ada")
	for range n {
		w.Job("one that fails", dispatchtest.Retries(0, 1))
		j := w.Claim(a)
		if _, err := w.Dispatch.Fail(w.Ctx, a, dispatchtest.Ref(j), report.Failure{Error: "no", Kind: string(jobs.FailedOther), Retryable: true}); err != nil {
			w.T.Fatal(err)
		}
	}
}

// hold runs a statement whose locks last until release is called.
func (w *world) hold(sql string) (release func()) {
	w.T.Helper()
	tx, err := w.owner().Begin(w.Ctx)
	if err == nil {
		_, err = tx.Exec(w.Ctx, sql)
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return func() { _ = tx.Rollback(w.Ctx) }
}
