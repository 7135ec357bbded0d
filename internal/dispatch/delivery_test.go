package dispatch_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// commit is what handedInBy hands in.
const commit = "9be04d1a"

func pushed() attempts.Delivery {
	return attempts.Delivery{State: attempts.Pushed, Branch: "fleet/FB-1-e1", Commit: commit}
}

func refusedFor(words string) attempts.Delivery {
	return attempts.Delivery{State: attempts.Refused, Branch: "fleet/FB-1-e1", Commit: commit, Detail: words}
}

// handedInBy returns a job in a repo that an agent has handed in; follows says that it reports what
// becomes of the commit.
func (w *testWorkspace) handedInBy(agent tenancy.Principal, follows bool) jobs.Job {
	w.T.Helper()
	w.Job("work", reviewed, inRepo("atlas"))
	held := w.Claim(agent)
	done, err := w.Dispatch.Complete(w.Ctx, agent, ref(held),
		report.Completion{Commit: commit, Branch: "fleet/FB-1-e1", DeliveryFollows: follows})
	if err != nil {
		w.T.Fatal(err)
	}
	return done.Job
}

// tells has an agent report what became of a commit, which must be taken.
func (w *testWorkspace) tells(agent tenancy.Principal, j jobs.Job, told attempts.Delivery) attempts.Delivery {
	w.T.Helper()
	now, err := w.Dispatch.RecordDelivery(w.Ctx, agent, ref(j), told)
	if err != nil {
		w.T.Fatal(err)
	}
	return now
}

// deliveries returns the events about it, the oldest first.
func (w *testWorkspace) deliveries() string {
	w.T.Helper()
	var all string
	w.scan(&all, `SELECT coalesce(string_agg(type, ' ' ORDER BY id), '') FROM event WHERE type LIKE 'job.deliver%'`)
	return all
}

// What becomes of a commit is reported after the lease has ended, by any agent of the factory, as
// often as it likes: each change is one event, and what was pushed stays pushed.
func TestACommitsFateIsToldAfterTheLease(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada", hasAtlas)
	j := w.handedInBy(ada, true)
	sister := w.Agent("sister", func(r *fleet.Registration) { r.Factory.Name = "factory-of-ada" })
	for range 2 {
		w.tells(ada, j, refusedFor("no ticket"))
	}
	if got := w.tells(sister, j, pushed()); got.At == nil || got.State != attempts.Pushed {
		t.Errorf("it is %+v", got)
	}
	if got := w.tells(ada, j, refusedFor("too late")); got.State != attempts.Pushed || got.Detail != "" {
		t.Errorf("an old call made it %+v", got)
	}
	if got := w.deliveries(); got != "job.delivery_refused job.delivered" {
		t.Errorf("the log tells %q", got)
	}
	list, err := attempts.NewService(w.DB).Attempts(w.Ctx, w.Owner, j.Key)
	if err != nil || len(list) != 1 || list[0].Delivery.State != attempts.Pushed || list[0].Delivery.Branch != "fleet/FB-1-e1" {
		t.Errorf("the attempts are %+v: %v", list, err)
	}
	w.Consistent()
}

// Nobody but the factory of an attempt says what became of it.
func TestACommitsFateIsToldByItsFactoryAlone(t *testing.T) {
	w := newTestWorkspace(t)
	ada, eve := w.Agent("ada", hasAtlas), w.Agent("eve", hasAtlas)
	j := w.handedInBy(ada, true)
	elsewhere := inWorkspace(t, w.DB, dbfactory.Workspace(t, w.DB))
	nobody := j
	nobody.Epoch = 7
	unknown := j
	unknown.Key = "FB-99"
	for name, c := range map[string]struct {
		who  tenancy.Principal
		of   jobs.Job
		want fault.Code
	}{
		"another factory's agent":       {eve, j, fault.Forbidden},
		"a person":                      {w.Owner, j, fault.Forbidden},
		"an agent of another workspace": {elsewhere.Agent("ada", hasAtlas), j, fault.NotFound},
		"an attempt that never was":     {ada, nobody, fault.NotFound},
		"a job that is not there":       {ada, unknown, fault.NotFound},
	} {
		_, err := w.Dispatch.RecordDelivery(w.Ctx, c.who, ref(c.of), refusedFor("a lie"))
		refused(t, name, err, c.want)
	}
	old := ada
	w.Agent("ada", hasAtlas, func(r *fleet.Registration) { r.BootID = "boot-2" })
	_, err := w.Dispatch.RecordDelivery(w.Ctx, old, ref(j), pushed())
	refused(t, "a boot that was replaced", err, fault.Superseded)
	if got := w.deliveries(); got != "" {
		t.Errorf("the log tells %q", got)
	}
}

func TestWhatIsToldOfACommitHasBounds(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada", hasAtlas)
	j := w.handedInBy(ada, true)
	for field, change := range map[string]func(*attempts.Delivery){
		"state":  func(d *attempts.Delivery) { d.State = attempts.Awaited },
		"branch": func(d *attempts.Delivery) { d.Branch = strings.Repeat("b", attempts.MaxBranch+1) },
		"commit": func(d *attempts.Delivery) { d.Commit = "" },
		"detail": func(d *attempts.Delivery) { d.Detail = strings.Repeat("ö", attempts.MaxDetail+1) },
	} {
		told := pushed()
		change(&told)
		_, err := w.Dispatch.RecordDelivery(w.Ctx, ada, ref(j), told)
		if refused(t, field, err, fault.Validation); fault.From(err).Fields[field] == "" {
			t.Errorf("%s: the fields are %v", field, fault.From(err).Fields)
		}
	}
	told := refusedFor(strings.Repeat("ö", attempts.MaxDetail))
	for i := range attempts.MaxTellings {
		told.Commit = fmt.Sprint("c", i)
		w.tells(ada, j, told)
	}
	_, err := w.Dispatch.RecordDelivery(w.Ctx, ada, ref(j), pushed())
	refused(t, "one change too many", err, fault.InvalidTransition)
	w.tells(ada, j, told) // the same is no change
}

// Of two calls that meet, the later one goes by what the first has reported.
func TestAPushWinsWhenCallsMeet(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada", hasAtlas)
	j := w.handedInBy(ada, true)
	release := w.Hold(`SELECT FROM attempt WHERE job_id = $1 FOR UPDATE`, j.ID)
	var calls sync.WaitGroup
	for i, told := range []attempts.Delivery{pushed(), refusedFor("no ticket")} {
		calls.Go(func() {
			if _, err := w.Dispatch.RecordDelivery(w.Ctx, ada, ref(j), told); err != nil {
				t.Error(err)
			}
		})
		w.Blocked(i + 1)
	}
	release()
	calls.Wait()
	if got := w.deliveries(); got != "job.delivered" {
		t.Errorf("the log tells %q", got)
	}
	if got := dbfactory.Text(t, w.DB, `SELECT delivery FROM attempt`); got != "pushed" {
		t.Errorf("it is %s", got)
	}
}

// A merge waits for a commit of which its factory said that it reports it, and begins once that is
// at the origin; where nobody reports anything it begins at once.
func TestAMergeWaitsForItsCommit(t *testing.T) {
	for name, c := range map[string]struct {
		follows bool
		told    []attempts.Delivery
		want    int
	}{
		"an agent that tells nothing":   {false, nil, 1},
		"an agent that will tell":       {true, nil, 0},
		"refused":                       {true, []attempts.Delivery{refusedFor("no ticket")}, 0},
		"refused without notice":        {false, []attempts.Delivery{refusedFor("no ticket")}, 0},
		"pushed":                        {true, []attempts.Delivery{pushed()}, 1},
		"pushed after all":              {true, []attempts.Delivery{refusedFor("no ticket"), pushed()}, 1},
		"in the clone of its host":      {true, []attempts.Delivery{{State: attempts.Local, Commit: commit}}, 1},
		"another commit of it refused":  {true, []attempts.Delivery{{State: attempts.Refused, Commit: "other"}}, 1},
		"a lie about another, then not": {true, []attempts.Delivery{{State: attempts.Pushed, Commit: "other"}, refusedFor("no")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			w.byFactories()
			ada := w.Agent("ada", hasAtlas)
			j := w.handedInBy(ada, c.follows)
			for _, told := range c.told {
				w.tells(ada, j, told)
			}
			w.Act(j, jobs.ByApprove)
			w.mergeCycle(c.want)
			if c.want == 0 {
				w.tells(ada, j, pushed())
				w.mergeCycle(1)
			}
		})
	}
}

// A later attempt is not held up by what became of an earlier one.
func TestAnEarlierRefusalHoldsNoLaterWork(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	ada := w.Agent("ada", hasAtlas)
	j := w.handedInBy(ada, true)
	w.tells(ada, j, refusedFor("no ticket"))
	w.Act(j, jobs.ByReject)
	again := w.Claim(ada)
	done, err := w.Dispatch.Complete(w.Ctx, ada, ref(again), report.Completion{Commit: commit})
	if err != nil || again.ID != j.ID || again.Epoch != 2 {
		t.Fatalf("%s was claimed: %v", again.Key, err)
	}
	w.Act(done.Job, jobs.ByApprove)
	w.mergeCycle(1)
}

// What is reported while the work still goes on is not forgotten when it is handed in.
func TestATellingBeforeTheEndStays(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada", hasAtlas)
	w.Job("work", reviewed, inRepo("atlas"))
	held := w.Claim(ada)
	w.tells(ada, held, pushed())
	if _, err := w.Dispatch.Complete(w.Ctx, ada, ref(held), report.Completion{Commit: commit, DeliveryFollows: true}); err != nil {
		t.Fatal(err)
	}
	if got := dbfactory.Text(t, w.DB, `SELECT delivery FROM attempt`); got != "pushed" {
		t.Errorf("it is %q", got)
	}
}
