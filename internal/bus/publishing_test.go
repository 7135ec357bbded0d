package bus

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// office is a workspace with a bus whose calls are written when the test says so.
type office struct {
	*dispatchtest.Fixture

	bus *Service
	ada tenancy.Principal
}

func newOffice(t *testing.T) *office {
	t.Helper()
	w := dispatchtest.New(t)
	s := NewService(w.DB, w.Wake, w.Jobs.Secrets, nil, nil)
	t.Cleanup(s.Close)
	return &office{w, s, w.Agent("ada")}
}

// said returns a message with an id.
func said(id ids.ID, to, kind string) Draft {
	return Draft{ID: id, Type: "custom." + kind, To: Address{Kind: ToAgent, Name: to}}
}

// call returns a call with one message.
func (o *office) call(d Draft) *sendItem {
	o.T.Helper()
	one, err := newSending(o.Owner, []Draft{d})
	if err != nil {
		o.T.Fatal(err)
	}
	return batch.NewItem[sending, []Sent](o.Ctx, one)
}

// sent writes calls together and gives of each the fault, or whether its message is new.
func (o *office) sent(calls ...*sendItem) (outcomes []string) {
	o.T.Helper()
	o.bus.sends.Flush(o.Workspace, calls)
	for _, c := range calls {
		res, err := c.Wait()
		switch {
		case err != nil && fault.From(err) == nil:
			o.T.Fatal(err)
		case err != nil:
			outcomes = append(outcomes, string(fault.From(err).Code))
		case res[0].New:
			outcomes = append(outcomes, "new")
		default:
			outcomes = append(outcomes, "known")
		}
	}
	return outcomes
}

// Calls that come together are one transaction, and what is wrong with one is not the
// others' fault.
func TestCallsAreWrittenTogether(t *testing.T) {
	o := newOffice(t)
	before := ids.New()
	o.sent(o.call(said(before, "ada", "before")))
	n := o.bus.sends.Transactions()
	got := o.sent(
		o.call(said(ids.Nil, "ada", "first")),
		o.call(said(ids.Nil, "nobody", "lost")),
		o.call(said(before, "ada", "before")),
		o.call(said(before, "ada", "other")),
		o.call(said(ids.Nil, "ada", "last")))
	// The repeat and the other message have the same id, so the second of them runs alone.
	want := []string{"new", string(fault.Validation), "known", string(fault.IdempotencyKeyReused), "new"}
	if !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
	if n = o.bus.sends.Transactions() - n; n != 2 {
		t.Errorf("%d transactions; want 2", n)
	}
}

// Two calls with the same id at once are one message.
func TestTheSameMessageTwiceAtOnce(t *testing.T) {
	o := newOffice(t)
	id := ids.New()
	got := o.sent(o.call(said(id, "ada", "same")), o.call(said(id, "ada", "same")), o.call(said(id, "ada", "other")))
	if want := []string{"new", "known", string(fault.IdempotencyKeyReused)}; !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
}

// A message that another process is writing is waited for, and compared with what was
// written.
func TestAMessageThatIsWrittenMeanwhile(t *testing.T) {
	o := newOffice(t)
	for kind, want := range map[string]string{"same": "known", "other": string(fault.IdempotencyKeyReused)} {
		id, started, answer := ids.New(), make(chan struct{}), make(chan []string)
		err := o.DB.In(o.Ctx, db.Workspace(o.Workspace), func(tx db.Tx) error {
			p, call := sendingIn(o.bus, o.Fixture, o.Owner, said(id, "ada", "same"))
			p.tx = tx
			if err := p.run(call); err != nil {
				return err
			}
			go func() {
				close(started)
				answer <- o.sent(o.call(said(id, "ada", kind)))
			}()
			<-started
			o.Blocked(1)
			return call.Err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := <-answer; got[0] != want {
			t.Errorf("the %s message: %v; want %s", kind, got, want)
		}
	}
}
