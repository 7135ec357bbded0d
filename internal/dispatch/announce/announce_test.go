package announce_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/dispatch/announce"
	"github.com/fleetboard/fleetboard/internal/dispatch/offer"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// server is a process that announces offers.
type server struct {
	*dispatchtest.Fixture
	*announce.Service

	heard chan string // topics of factories that are offered jobs
}

// servers are processes on one database over NATS, with a redelivery.
func servers(t *testing.T, n int, r transport.Redelivery) (list []server) {
	t.Helper()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	for range n {
		over := transporttest.Named(t, d, transport.NameNATS)
		f := dispatchtest.Over(t, d, workspace, over)
		s := server{f, announce.New(d, f.Wake, over.(*transport.NATS).Offers(r), slog.New(slog.DiscardHandler)), make(chan string, 10_000)}
		stopHearing := f.Wake.Subscribe("offer:", func(topic string) { s.heard <- topic })
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("Run returned %v", err)
			}
			stopHearing()
			s.Close()
		})
		list = append(list, s)
	}
	for _, s := range list {
		<-s.Listening
	}
	return list
}

// offers announces a job to the factory of an agent, and returns the offer.
func (s server) offers(j jobs.Job, agent tenancy.Principal) offer.Offer {
	s.T.Helper()
	factory, ok := ids.Parse(dbfactory.Text(s.T, s.DB, `SELECT factory_id::text FROM agent WHERE id = $1`, agent.Agent))
	if !ok {
		s.T.Fatal("the agent has no factory")
	}
	o := offer.Offer{Workspace: s.Workspace, Job: j.ID, Version: int64(j.Version), FactoryID: factory, Factory: "rook",
		ExpiresAt: time.Now().Add(time.Minute)}
	s.Offered(s.Ctx, []offer.Offer{o})
	return o
}

// hears waits until a factory is woken.
func (s server) hears(o offer.Offer) {
	s.T.Helper()
	want := "offer:" + o.Workspace.String() + ":" + o.FactoryID.String()
	for end := time.After(patience); ; {
		select {
		case topic := <-s.heard:
			if topic == want {
				return
			}
		case <-end:
			s.T.Fatal("the factory was not woken")
		}
	}
}

// dead waits until a job has dead offers.
func (s server) dead(j jobs.Job) []announce.DeadOffer {
	s.T.Helper()
	for end := time.Now().Add(patience); ; <-time.After(10 * time.Millisecond) {
		list, err := s.JobDeadOffers(s.Ctx, s.Owner, j.ID)
		if err != nil || time.Now().After(end) {
			s.T.Fatalf("no dead offer: %v", err)
		}
		if len(list) > 0 {
			return list
		}
	}
}

var deadSoon = transport.Redelivery{Every: 100 * time.Millisecond, Times: 3, Known: time.Minute}

// An offer wakes its factory at every server, again and again, and is dead in the end: on the page of
// the job, in the list for people who run the fleet, and for a week.
func TestAnOfferThatNobodyTakes(t *testing.T) {
	t.Parallel()
	list := servers(t, 2, deadSoon)
	one, two := list[0], list[1]
	agent := one.Agent("a")
	j := one.Job("for rook")
	o := one.offers(j, agent)
	one.hears(o)
	two.hears(o)
	two.hears(o)
	if got := two.dead(j); len(got) != 1 || got[0].Deliveries != deadSoon.Times || got[0].Factory != "factory-of-a" {
		t.Errorf("dead: %+v", got)
	}
	all, err := two.DeadOffers(t.Context(), two.Owner, 0, 10)
	if err != nil || len(all) != 1 || all[0].Job != j.Key || all[0].Title != "for rook" {
		t.Errorf("listed: %+v, %v", all, err)
	}
	if older, err := two.DeadOffers(t.Context(), two.Owner, all[0].ID, 10); err != nil || len(older) != 0 {
		t.Errorf("older: %+v, %v", older, err)
	}
	for _, who := range []tenancy.Principal{agent, dbfactory.Person(two.Workspace, tenancy.RoleViewer)} {
		if _, err := two.DeadOffers(t.Context(), who, 0, 10); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%v sees them: %v", who.Kind, err)
		}
	}
	// Another workspace has none of them.
	if other, err := two.DeadOffers(t.Context(), dbfactory.Person(dbfactory.Workspace(t, two.DB), tenancy.RoleOwner), 0, 10); err != nil || len(other) != 0 {
		t.Errorf("another workspace sees %+v, %v", other, err)
	}
	if n, err := two.ExpireDeadOffers(t.Context()); n != 0 || err != nil {
		t.Errorf("%d were deleted, %v", n, err)
	}
	dbfactory.Exec(t, two.DB, `UPDATE dead_offer SET at = now() - interval '7 days 1 minute'`)
	if n, err := two.ExpireDeadOffers(t.Context()); n != 1 || err != nil {
		t.Errorf("%d were deleted, %v; want 1", n, err)
	}
}

// Whichever server ends an offer, it is delivered no more, also where it ended before it was delivered.
func TestAnOfferThatEnds(t *testing.T) {
	t.Parallel()
	repeated := transport.Redelivery{Every: 100 * time.Millisecond, Times: 100_000, Known: time.Minute}
	list := servers(t, 2, repeated)
	one, two := list[0], list[1]
	agent := one.Agent("a")
	o := one.offers(one.Job("first"), agent)
	one.hears(o)
	two.Ended(t.Context(), []offer.Offer{o})
	early := offer.Offer{Workspace: o.Workspace, Job: ids.New(), Version: 1, FactoryID: o.FactoryID, ExpiresAt: o.ExpiresAt}
	one.Ended(t.Context(), []offer.Offer{early})
	one.Offered(t.Context(), []offer.Offer{early})
	// Nothing is kept any more once both are acknowledged.
	kept := func() int { return transporttest.KeptOffers(t, one.DB) }
	for end := time.Now().Add(patience); kept() > 0; <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d offers are kept", kept())
		}
	}
}

// A job that was taken, or has changed, has no dead offer, whatever the broker says.
func TestAnOfferOfATakenJobIsNotDead(t *testing.T) {
	t.Parallel()
	s := servers(t, 1, deadSoon)[0]
	agent := s.Agent("a")
	j := s.Job("first")
	o := s.offers(j, agent)
	taken := s.Claim(agent)
	carried := transport.Offer{Workspace: o.Workspace, Job: o.Job, Version: o.Version, Factory: o.FactoryID, ExpiresAt: o.ExpiresAt}
	if err := s.Dead(t.Context(), carried, 5); err != nil {
		t.Fatal(err)
	}
	if list, err := s.JobDeadOffers(t.Context(), s.Owner, taken.ID); err != nil || len(list) != 0 {
		t.Errorf("dead: %+v, %v", list, err)
	}
}

// deaf is a broker that is not there.
type deaf struct {
	mu    sync.Mutex
	asked int
}

func (*deaf) Run(ctx context.Context, _ transport.OfferReceiver) error { <-ctx.Done(); return nil }

func (d *deaf) Publish(ctx context.Context, _ []transport.Offer) error {
	d.mu.Lock()
	d.asked++
	d.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (*deaf) Credentials(ids.ID, ids.ID, time.Duration) (c transport.FactoryCredentials, err error) {
	return c, transport.ErrNoCredentials
}

// An agent gets credentials for its factory, which hear of its offers.
func TestAFactorysProgramHearsOfItsOffers(t *testing.T) {
	t.Parallel()
	s := servers(t, 1, deadSoon)[0]
	agent := s.Agent("a")
	c, err := s.Credentials(t.Context(), agent)
	if err != nil {
		t.Fatal(err)
	}
	heard := transporttest.Hear(t, c)
	s.offers(s.Job("for it"), agent)
	select {
	case <-heard:
	case <-time.After(patience):
		t.Error("its program hears nothing")
	}
	old := agent
	old.Boot = "an earlier one"
	if _, err := s.Credentials(t.Context(), old); !fault.Is(err, fault.Superseded) {
		t.Errorf("a boot that was replaced: %v", err)
	}
	if _, err := s.Credentials(t.Context(), s.Owner); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a person: %v", err)
	}
	for _, broker := range []announce.Broker{nil, &deaf{}} {
		other := announce.New(s.DB, s.Wake, broker, nil)
		if _, err := other.Credentials(t.Context(), agent); !fault.Is(err, fault.NotFound) {
			t.Errorf("without a key: %v", err)
		}
		other.Close()
	}
}

// A broker that does not answer holds nobody up.
func TestABrokerThatDoesNotAnswer(t *testing.T) {
	f := dispatchtest.New(t)
	s := announce.New(f.DB, f.Wake, &deaf{}, slog.New(slog.DiscardHandler))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	o := offer.Offer{Workspace: f.Workspace, Job: ids.New(), Version: 1, FactoryID: ids.New()}
	for range 20_000 {
		s.Offered(ctx, []offer.Offer{o})
		s.Ended(ctx, []offer.Offer{o})
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if none := announce.New(f.DB, f.Wake, nil, nil); none.Announcer() != nil {
		t.Error("without a broker there is something to call")
	}
}
