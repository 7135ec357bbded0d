package bus

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// orderTime returns how long messages are published: FLEETBOARD_BUS_TIME, 60s for the whole test.
func orderTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("FLEETBOARD_BUS_TIME")
	if text == "" {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal("FLEETBOARD_BUS_TIME:", err)
	}
	return d
}

const (
	publishers = 16
	readers    = 8
)

// storm is many who publish, in transactions that stay open for as long as they like, and
// many who read, half of whom crash before they acknowledge.
type storm struct {
	t   *testing.T
	w   *dispatchtest.Fixture
	bus *Service

	ended atomic.Bool
	mu    sync.Mutex
	sent  map[ids.ID]string // committed messages, and whom they are for
	got   []map[ids.ID]int  // of each reader, how often it processed a message
	wrong map[string]int    // what must not happen
}

func newStorm(t *testing.T) *storm {
	t.Helper()
	w := dispatchtest.New(t)
	s := &storm{t: t, w: w, bus: NewService(w.DB, w.Wake, w.Jobs.Secrets, nil, nil), sent: map[ids.ID]string{}, wrong: map[string]int{}}
	t.Cleanup(s.bus.Close)
	return s
}

// sendingIn returns a call that is written in a transaction of the test.
func sendingIn(s *Service, w *dispatchtest.Fixture, who tenancy.Principal, list ...Draft) (*publishing, *sendItem) {
	call := batch.NewItem[sending, []Sent](w.Ctx, sending{who: who, list: list})
	return &publishing{ctx: w.Ctx, s: s, workspace: w.Workspace}, call
}

func (s *storm) fault(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong[fmt.Sprintf(format, args...)]++
}

// publish sends messages of one sender to all readers, each in a transaction that takes its
// number early and commits late, or not at all.
func (s *storm) publish(sender string, to []Address) {
	rnd := rand.New(rand.NewPCG(1, uint64(len(sender))))
	for n := int64(1); !s.ended.Load(); n++ {
		var list []Draft
		for _, a := range to {
			list = append(list, Draft{ID: ids.New(), Type: "custom.storm", To: a, CorrelationID: sender,
				Payload: fmt.Appendf(nil, `{"n":%d}`, n)})
		}
		p, call := sendingIn(s.bus, s.w, tenancy.System(s.w.Workspace, sender), list...)
		broken := fmt.Errorf("broken off")
		err := s.w.DB.In(s.t.Context(), db.Workspace(s.w.Workspace), func(tx db.Tx) error {
			p.tx = tx
			if err := cmp.Or(p.run(call), call.Err); err != nil {
				return err
			}
			<-time.After(time.Duration(rnd.IntN(40)) * time.Millisecond) // holds the transaction open
			if rnd.IntN(10) == 0 {
				return broken
			}
			return nil
		})
		if err == broken { //nolint:errorlint // our own, handed through
			continue
		}
		if err != nil {
			s.fault("publish: %v", err)
			return
		}
		s.mu.Lock()
		for _, d := range list {
			s.sent[d.ID] = d.To.Name
		}
		s.mu.Unlock()
		s.bus.notifyReaders(s.w.Workspace, p.inboxes)
	}
}

// read processes what comes to one reader until everything was sent and its inbox is empty.
// One that crashes forgets how far it had read.
func (s *storm) read(who tenancy.Principal, into map[ids.ID]int, crashes bool) {
	rnd := rand.New(rand.NewPCG(2, uint64(len(who.Name))))
	last, after, empty := map[string]int64{}, int64(0), 0
	for {
		over := s.ended.Load()
		in, err := s.bus.Read(s.t.Context(), who, Query{After: after, Wait: time.Second, Limit: 1 + rnd.IntN(20)})
		if err != nil {
			s.fault("read: %v", err)
			return
		}
		if len(in.Messages) == 0 && over {
			if empty++; empty > mostEmpty || s.handedOut(who) {
				return
			}
		}
		if crashes && rnd.IntN(8) == 0 {
			after = 0
			continue
		}
		for _, m := range in.Messages {
			into[m.ID]++
			if into[m.ID] > 1 && m.Deliveries < 2 {
				s.fault("%s was given a message twice as if for the first time", who.Name)
			}
			var said struct{ N int64 }
			if _, err := fmt.Sscanf(string(m.Payload), `{"n": %d}`, &said.N); err != nil {
				s.fault("payload %s", m.Payload)
			}
			if into[m.ID] == 1 && said.N <= last[m.CorrelationID] {
				s.fault("%s was given messages of %s out of order", who.Name, m.CorrelationID)
			}
			last[m.CorrelationID] = max(last[m.CorrelationID], said.N)
		}
		if len(in.Messages) > 0 && rnd.IntN(3) > 0 {
			if _, err := s.bus.AckUpTo(s.t.Context(), who, in.Next); err != nil {
				s.fault("ack: %v", err)
			}
		}
		after = in.Next
	}
}

// mostEmpty is how many reads of a second that bring nothing a reader waits for what it was
// not handed out.
const mostEmpty = 60

// handedOut reports whether each message for a reader was handed out to it. A read that
// brings nothing does not say so: what stands above the horizon of the log is held back.
func (s *storm) handedOut(who tenancy.Principal) bool {
	return dbfactory.Int(s.t, s.w.DB, `SELECT count(*) FROM message_delivery WHERE inbox = $1 AND deliveries = 0`,
		inboxName(Address{Kind: ToAgent, ID: who.Agent})) == 0
}

// run lets everybody publish and read for a time, and says what went wrong.
func (s *storm) run(long time.Duration) map[string]int {
	var to []Address
	var reading, writing sync.WaitGroup
	for n := range readers {
		name := fmt.Sprintf("reader-%d", n)
		who, into := s.w.Agent(name), map[ids.ID]int{}
		to, s.got = append(to, Address{Kind: ToAgent, Name: name}), append(s.got, into)
		reading.Go(func() { s.read(who, into, n%2 == 1) })
	}
	for n := range publishers {
		writing.Go(func() { s.publish(fmt.Sprintf("sender-%d", n), to) })
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), long)
	defer cancel()
	<-ctx.Done()
	s.ended.Store(true)
	writing.Wait()
	reading.Wait()
	for n, into := range s.got {
		missing := 0
		for id, reader := range s.sent {
			if reader == fmt.Sprintf("reader-%d", n) && into[id] == 0 {
				missing++
			}
		}
		if missing > 0 {
			s.fault("reader %d never got %d messages", n, missing)
		}
	}
	if len(s.sent) < publishers*readers {
		s.fault("only %d messages were sent", len(s.sent))
	}
	return s.wrong
}

// Sixteen publish and commit in any order, eight read, and half of them crash before they
// acknowledge: each message is processed, in the order of its sender, and comes twice only
// as one that was handed out again. FLEETBOARD_BUS_TIME says how long.
func TestNoMessageIsSkipped(t *testing.T) {
	s := newStorm(t)
	for what, n := range s.run(orderTime(t)) {
		t.Errorf("%s, %d times", what, n)
	}
	t.Logf("%d messages", len(s.sent))
}

// lateCommit sends "early" in a transaction that is open while "late" is sent and read, and
// gives what a reader saw before and after its commit.
// It waits for as many as are wanted, or once for a moment where none are.
func lateCommit(t *testing.T, w *dispatchtest.Fixture, want int) (before, after []Message) {
	t.Helper()
	s := NewService(w.DB, w.Wake, w.Jobs.Secrets, nil, nil)
	t.Cleanup(s.Close)
	ada := w.Agent("ada")
	send := func(text string, meanwhile func()) {
		p, call := sendingIn(s, w, w.Owner, Draft{ID: ids.New(), Type: "custom." + text, To: Address{Kind: ToAgent, Name: "ada"}})
		err := w.DB.In(w.Ctx, db.Workspace(w.Workspace), func(tx db.Tx) error {
			p.tx = tx
			err := cmp.Or(p.run(call), call.Err)
			meanwhile()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s.notifyReaders(w.Workspace, p.inboxes)
	}
	read := func(at int64, wait time.Duration) Inbox {
		in, err := s.Read(w.Ctx, ada, Query{After: at, Wait: wait, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	var first Inbox
	send("early", func() {
		send("late", func() {})
		first = read(0, 0)
	})
	if want == 0 {
		return first.Messages, read(first.Next, time.Second).Messages
	}
	for place := first.Next; len(after) < want; {
		in := read(place, MaxWait)
		after, place = append(after, in.Messages...), in.Next
	}
	return first.Messages, after
}

// A message that commits late holds back those behind it, and none is skipped.
func TestALateCommitIsNotSkipped(t *testing.T) {
	before, after := lateCommit(t, dispatchtest.New(t), 2)
	if len(before) != 0 || len(after) != 2 || after[0].Type != "custom.early" {
		t.Errorf("before the commit %+v, after it %+v; want nothing, then early and late", before, after)
	}
}

// A server that reads by the plain order of numbers is found out by the same.
func TestAReaderWithoutAHorizonIsFoundOut(t *testing.T) {
	w := dispatchtest.New(t)
	dbfactory.Exec(t, w.DB, `CREATE OR REPLACE FUNCTION log_horizon() RETURNS xid8 LANGUAGE sql STABLE AS
		$$ SELECT '9007199254740991'::xid8 $$`)
	before, after := lateCommit(t, w, 0)
	if len(before) != 1 || len(after) != 0 {
		t.Errorf("before the commit %+v, after it %+v; want the early one to be lost", before, after)
	}
}
