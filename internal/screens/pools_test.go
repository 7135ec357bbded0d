package screens_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
)

type nobody struct{}

func (nobody) Publish(...string) {}

// A job for which a pool starts a factory does not wait for a person: neither the board nor what
// waits for people counts it among those that cannot run. Where no factory can be expected it does.
func TestAJobThatAPoolServesWaitsForNobody(t *testing.T) {
	w := setup(t)
	_, _, err := pools.NewService(w.db, nobody{}).Put(t.Context(), w.who, "gpu",
		pools.Template{Max: 1, Offers: pools.Offers{Seats: 1, Capabilities: []string{"has:gpu"}}})
	if err != nil {
		t.Fatal(err)
	}
	job := w.job(jobs.New{Spec: jobs.Spec{Title: "for the pool", Capabilities: []string{"has:gpu"}}})
	w.job(jobs.New{Spec: jobs.Spec{Title: "for nobody", Capabilities: []string{"has:tpu"}}})
	shows := func(when string, unroutable int, card, explained string) {
		t.Helper()
		b := w.board(screens.Filter{})
		for _, c := range column(b, screens.Ready).Cards {
			if c.Job.ID == job.ID && c.Why.Code != card {
				t.Errorf("%s its card says %s, want %s", when, c.Why.Code, card)
			}
		}
		snap, err := w.fleet.Snapshot(t.Context(), w.who)
		if err != nil {
			t.Fatal(err)
		}
		page, err := w.NeedsPage(t.Context(), w.who, snap)
		if err != nil {
			t.Fatal(err)
		}
		filtered := w.board(screens.Filter{Unroutable: true}).Total
		if b.Unroutable.Count != unroutable || page.Count.Unroutable.Jobs != unroutable || len(page.List) != unroutable || filtered != unroutable {
			t.Errorf("%s the board has %d that cannot run, people %d (%d listed), the filter %d; want %d", when, b.Unroutable.Count,
				page.Count.Unroutable.Jobs, len(page.List), filtered, unroutable)
		}
		e, err := w.Explain(t.Context(), w.who, job.Key)
		if err != nil || e.Reasons[0].Code != screens.CodeNoFactory || e.Reasons[1].Code != explained {
			t.Errorf("%s it is explained by %+v, %v", when, e.Reasons, err)
		}
	}
	shows("at first", 1, screens.CodeCanBeStarted, screens.CodeCanBeStarted)

	dbfactory.Exec(t, w.db, `INSERT INTO pool_sample (workspace_id, pool_id, at, queued, running, value, factories, starting)
		SELECT workspace_id, id, date_trunc('minute', now()) - n * interval '1 minute', 1, 0, 1, 0, 0 FROM pool, generate_series(0, 8) n`)
	shows("after ten minutes", 2, screens.CodeNoFactory, screens.CodePoolStartsNone)

	dbfactory.Exec(t, w.db, "UPDATE pool_sample SET starting = 1 WHERE at > now() - interval '2 minutes'")
	shows("when one starts", 1, screens.CodeCanBeStarted, screens.CodeCanBeStarted)

	who := dbfactory.Enrolment(w.who.Workspace)
	_, err = w.dispatch.Register(t.Context(), who, fleet.Registration{Agent: "gpu-1", BootID: "b", MaxConcurrentJobs: 1,
		Factory: fleet.FactoryInfo{Name: "gpu-1", Pool: "gpu", Seats: 1}})
	if err != nil {
		t.Fatal(err)
	}
	shows("when its factory lacks it", 2, screens.CodeNoFactory, screens.CodePoolStartsNone)
}
