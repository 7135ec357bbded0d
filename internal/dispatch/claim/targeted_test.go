package claim_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/dispatch/offer"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// passes lets time go by for offers, and for jobs.
func (w *testWorkspace) passes(d time.Duration) {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `UPDATE job_offer SET first_at = first_at - $1::interval, offered_at = offered_at - $1::interval,
		expires_at = expires_at - $1::interval`, d.String())
	dbfactory.Exec(w.T, w.DB, `UPDATE job SET ready_at = ready_at - $1::interval WHERE status = 'ready'`, d.String())
}

// set changes how jobs are given out.
func (w *testWorkspace) set(c setting.Change) {
	w.T.Helper()
	if _, err := w.Dispatch.ChangeDispatch(w.Ctx, w.Owner, c); err != nil {
		w.T.Fatal(err)
	}
}

// wantOffered asserts to which factory a job is offered now, "" for none.
func (w *testWorkspace) wantOffered(j jobs.Job, factory string) {
	w.T.Helper()
	got := dbfactory.Text(w.T, w.DB, `SELECT coalesce((SELECT o.factory FROM job_offer o JOIN job j ON j.id = o.job_id
		WHERE o.job_id = $1 AND turn > 0 AND expires_at > clock_timestamp() AND j.version = o.job_version AND j.status = 'ready'), '')`, j.ID)
	if got != factory {
		w.T.Errorf("%s is offered to %q, want %q", j.Key, got, factory)
	}
}

// threeMacs is a factory that has something rare, and two that have not, each with a job's worth of seats.
func (w *testWorkspace) threeMacs() (rare, first, second tenancy.Principal) {
	return w.Agent("rare", at("mac-rare", 4, "gpu")), w.Agent("first", at("mac-1", 4)), w.Agent("second", at("mac-2", 2))
}

func TestAJobIsOfferedToTheFactoryThatSuitsItBest(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Targeted)
	rare, first, _ := w.threeMacs()
	j := w.Job("common work")
	w.Nothing(rare, claim.ReasonEmpty)
	w.wantOffered(j, "mac-1")
	w.Nothing(rare, claim.ReasonEmpty)
	if got := w.Claim(first); got.Key != j.Key {
		t.Errorf("claimed %s", got.Key)
	}
	d := w.decisions(j)[0]
	if d.Mode != "targeted" || d.By != decision.ByScorer || d.Chosen != "mac-1" || d.Class != decision.Same {
		t.Errorf("decided %+v", d)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_offer`); n != 0 {
		t.Errorf("%d offers are left", n)
	}
	w.Consistent()
}

// An offer goes from one to the next, and after three to whoever asks.
func TestAnOfferThatIsNotTakenGoesToTheNext(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Targeted)
	rare, _, _ := w.threeMacs()
	w.Agent("third", at("mac-3", 2))
	w.Agent("fourth", at("mac-4", 2))
	j := w.Job("common work")
	for _, factory := range []string{"mac-1", "mac-2", "mac-3"} {
		w.Nothing(rare, claim.ReasonEmpty)
		w.wantOffered(j, factory)
		w.passes(16 * time.Second)
	}
	w.wantOffered(j, "")
	if got := w.Claim(rare); got.Key != j.Key {
		t.Errorf("claimed %s", got.Key)
	}
	if d := w.decisions(j)[0]; d.By != decision.ByPull || d.Class != decision.Real {
		t.Errorf("decided %+v", d)
	}
}

// What is offered to a factory comes before what is more urgent, whatever lane it stands in.
func TestAClaimTakesFirstWhatIsOfferedToItsFactory(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Targeted)
	rare, first, _ := w.threeMacs()
	offered := w.Job("offered", priority(1))
	w.Nothing(rare, claim.ReasonEmpty)
	w.wantOffered(offered, "mac-1")
	urgent := w.Job("urgent", func(n *jobs.New) { n.Factory = "mac-1" }, priority(9))
	if got := w.Claim(first); got.Key != offered.Key {
		t.Errorf("claimed %s", got.Key)
	}
	if got := w.Claim(first); got.Key != urgent.Key {
		t.Errorf("then claimed %s", got.Key)
	}
}

// asks has an agent claim until leave is called, and waits until it does.
func (w *testWorkspace) asks(agent tenancy.Principal) (got <-chan []jobs.Job, leave func()) {
	ctx, leave := context.WithCancel(w.Ctx)
	claims := make(chan []jobs.Job, 1)
	waiting := w.Dispatch.Waiting(w.Workspace)
	go func() {
		claimed, err := w.Dispatch.Claim(ctx, agent, claim.Request{Wait: waitlist.MaxWait})
		if err != nil && ctx.Err() == nil {
			w.T.Error(err)
		}
		claims <- claimed.Jobs
	}()
	for w.Dispatch.Waiting(w.Workspace) == waiting {
		<-time.After(time.Millisecond)
	}
	return claims, leave
}

// Whoever waits longest meets the job, and the factory that it is offered to is woken.
func TestAnOfferWakesItsFactory(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Targeted)
	rare, first, _ := w.threeMacs()
	passedOver, leave := w.asks(rare)
	offered, _ := w.asks(first)
	j := w.Job("common work")
	if got := <-offered; len(got) != 1 || got[0].Key != j.Key {
		t.Errorf("claimed %v", got)
	}
	leave()
	<-passedOver
}

// When the time of an offer is over the next in line is woken: here nobody else is left.
func TestTheEndOfAnOfferWakesTheNext(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Targeted)
	five := 5
	w.set(setting.Change{OfferSeconds: &five})
	rare := w.Agent("rare", at("mac-rare", 4, "gpu"))
	w.Agent("first", at("mac-1", 4))
	passedOver, _ := w.asks(rare)
	j := w.Job("common work")
	if got := <-passedOver; len(got) != 1 || got[0].Key != j.Key {
		t.Errorf("claimed %v", got)
	}
}

// A job waits for the factory that has its files, as long as it may.
func TestAJobWaitsForAWarmFactory(t *testing.T) {
	w := newTestWorkspace(t)
	warm, cold := w.Agent("warm", at("mac-warm", 1)), w.Agent("cold", at("mac-cold", 1))
	w.Job("first", dispatchtest.InRepo("ledger-api"))
	held := w.Claim(warm)
	w.Complete(warm, held)
	busy := w.Job("busy", dispatchtest.InRepo("ledger-api"))
	if got := w.Claim(warm); got.Key != busy.Key {
		t.Fatalf("claimed %s", got.Key)
	}
	w.inMode(setting.Targeted)
	w.set(setting.Change{Weights: map[string]int{"load": 0}})
	j := w.Job("second", dispatchtest.InRepo("ledger-api"))
	w.Nothing(cold, claim.ReasonEmpty)
	w.wantOffered(j, "")
	w.passes(6 * time.Second)
	if got := w.Claim(cold); got.Key != j.Key {
		t.Errorf("claimed %s", got.Key)
	}
}

// Whatever the mode was, the next claim goes by the present one, and who waits is woken.
func TestChangingTheModeStrandsNothing(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Targeted)
	rare, _, _ := w.threeMacs()
	j := w.Job("common work")
	w.Nothing(rare, claim.ReasonEmpty)
	w.wantOffered(j, "mac-1")
	passedOver, _ := w.asks(rare)
	w.inMode(setting.Pull)
	if got := <-passedOver; len(got) != 1 || got[0].Key != j.Key {
		t.Errorf("claimed %v", got)
	}
}

// A factory that drains, or has no seat left, is offered nothing, and what it was offered goes on.
func TestNothingIsOfferedToWhoCannotTakeIt(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Targeted)
	rare, first, second := w.threeMacs()
	j := w.Job("common work")
	w.Nothing(rare, claim.ReasonEmpty)
	w.wantOffered(j, "mac-1")
	if _, err := w.Fleet.SetDraining(w.Ctx, w.Owner, "mac-1", true); err != nil {
		t.Fatal(err)
	}
	w.Nothing(rare, claim.ReasonEmpty)
	w.wantOffered(j, "mac-2")
	w.Nothing(first, claim.ReasonDraining)
	for range 2 {
		named := w.Job("named", func(n *jobs.New) { n.Factory = "mac-2" })
		if _, err := w.Dispatch.Claim(w.Ctx, second, claim.Request{Job: named.Key}); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Claim(rare); got.Key != j.Key {
		t.Errorf("claimed %s", got.Key)
	}
}

// Whatever the mode is at a moment, and however often it changes while a fleet works through two servers,
// every job is done, once.
func TestModesChangeInTheMiddleOfAThousandJobs(t *testing.T) {
	const total, perMode = 1000, 125
	w := newTestWorkspace(t)
	servers := []*testWorkspace{w, inWorkspace(t, w.DB, w.Workspace)}
	list := make([]jobs.New, total)
	for i := range list {
		list[i] = jobs.New{Spec: jobs.Spec{Title: "job", Repo: []string{"", "ledger-api"}[i%2]}}
	}
	if _, err := w.Jobs.Create(w.Ctx, w.Owner, nil, list...); err != nil {
		t.Fatal(err)
	}
	var done atomic.Int64
	reached := make(chan int64, total)
	work := func(server *testWorkspace, agent tenancy.Principal) error {
		for done.Load() < total {
			got, err := server.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 3, Wait: 20 * time.Millisecond})
			if err != nil {
				return err
			}
			for _, j := range got.Jobs {
				if _, err := server.Dispatch.Complete(w.Ctx, agent, ref(j), report.Completion{}); err != nil {
					return err
				}
				reached <- done.Add(1)
			}
		}
		return nil
	}
	var fleet errgroup.Group
	for i := range 4 {
		agent := w.Agent(fmt.Sprint("agent-", i), at(fmt.Sprint("mac-", i), 3, []string{"gpu", "docker"}[:i%3]...))
		fleet.Go(func() error { return work(servers[i%2], agent) })
	}
	for n := range reached {
		if n%perMode == 0 {
			w.inMode([]setting.Mode{setting.Targeted, setting.Pull, setting.Targeted, setting.Shadow}[n/perMode%4])
		}
		if n == total {
			break
		}
	}
	if err := fleet.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM attempt WHERE outcome = 'completed'`); n != total {
		t.Errorf("%d of %d jobs are completed", n, total)
	}
	w.Consistent()
}

// Offers go that mean nothing any more: of jobs that were taken, and all where the mode is another.
func TestEndedOffersGo(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Targeted)
	rare, first, _ := w.threeMacs()
	taken, stays := w.Job("taken"), w.Job("stays")
	if _, err := w.Dispatch.Claim(w.Ctx, rare, claim.Request{Max: 2}); err != nil {
		t.Fatal(err)
	}
	w.wantOffered(taken, "mac-1")
	w.wantOffered(stays, "mac-2")
	if _, err := w.Dispatch.Claim(w.Ctx, first, claim.Request{Job: taken.Key}); err != nil {
		t.Fatal(err)
	}
	expire := func(want int) {
		t.Helper()
		if n, err := w.Dispatch.ExpireOffers(w.Ctx); n != want || err != nil {
			t.Errorf("deleted %d, %v; want %d", n, err, want)
		}
	}
	expire(0)
	w.passes(2 * time.Minute)
	expire(1)
	w.inMode(setting.Pull)
	expire(1)
}

// Who announces offers hears of each that is made and taken, after the commit.
func TestOffersAreAnnounced(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Targeted)
	heard := &announced{}
	w.Dispatch.AnnounceOffers(heard)
	rare, first, _ := w.threeMacs()
	j := w.Job("common work")
	w.Nothing(rare, claim.ReasonEmpty)
	if len(heard.offered) != 1 || heard.offered[0].Job != j.ID || heard.offered[0].Factory != "mac-1" || heard.offered[0].Workspace != w.Workspace ||
		heard.offered[0].Version != int64(j.Version) || !heard.offered[0].ExpiresAt.After(time.Now()) || len(heard.ended) != 0 {
		t.Errorf("offered: %+v", heard)
	}
	w.Claim(first)
	if len(heard.offered) != 1 || len(heard.ended) != 1 || heard.ended[0].Job != j.ID || heard.ended[0].FactoryID != heard.offered[0].FactoryID {
		t.Errorf("taken: %+v", heard)
	}
}

type announced struct{ offered, ended []offer.Offer }

func (a *announced) Offered(_ context.Context, list []offer.Offer) {
	a.offered = append(a.offered, list...)
}
func (a *announced) Ended(_ context.Context, list []offer.Offer) { a.ended = append(a.ended, list...) }
