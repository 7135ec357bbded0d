package bus

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// look gives the inboxes that a look since another one finds, and that look.
func (o *office) look(since inboxCheck) (found []string, now inboxCheck) {
	o.T.Helper()
	found, now, err := inboxesDue(o.Ctx, o.DB, o.Workspace, []string{inboxName(Address{Kind: ToAgent, ID: o.ada.Agent})},
		[]string{inboxName(Address{Kind: ToRole, Name: tenancy.AgentWorker})}, since)
	if err != nil {
		o.T.Fatal(err)
	}
	return found, now
}

// visible waits until nothing in the inboxes is held back by transactions of other tests.
func (o *office) visible(inboxes ...string) {
	o.T.Helper()
	for held := true; held; {
		err := o.DB.In(o.Ctx, db.Workspace(o.Workspace), func(tx db.Tx) (err error) {
			held, err = q.DeliveryHeldBack(o.Ctx, tx, inboxes, o.Workspace, 0)
			return err
		})
		if err != nil {
			o.T.Fatal(err)
		}
	}
}

// A look at inboxes finds what a wake-up was lost of, what was put off until now, and what
// nobody has of a role. It finds nothing twice in an agent's own inbox, so that a thousand
// readers with messages that they have not acknowledged are not woken again and again.
func TestALookFindsOnlyWhatIsNew(t *testing.T) {
	o := newOffice(t)
	own, role := inboxName(Address{Kind: ToAgent, ID: o.ada.Agent}), "role:worker"
	_, start := o.look(inboxCheck{at: time.Now(), seq: math.MaxInt64})
	want := func(what string, since inboxCheck, inboxes ...string) inboxCheck {
		t.Helper()
		found, now := o.look(since)
		if slices.Sort(found); !slices.Equal(found, inboxes) {
			t.Errorf("%s: %v; want %v", what, found, inboxes)
		}
		return now
	}
	want("at first", start)
	send := func(to Address) {
		t.Helper()
		if _, err := o.bus.Publish(o.Ctx, o.Owner, Draft{Type: "custom.note", To: to}); err != nil {
			t.Fatal(err)
		}
	}
	send(Address{Kind: ToAgent, Name: "ada"})
	send(Address{Kind: ToRole, Name: tenancy.AgentWorker})
	o.visible(own, role)
	later := want("what was sent", start, own, role)
	want("what was found before", later, role)
	in, err := o.bus.Read(o.Ctx, o.ada, Query{Limit: MaxRead})
	if err != nil || len(in.Messages) != 2 {
		t.Fatalf("%+v, %v", in, err)
	}
	want("what was handed out", start)
	if _, err := o.bus.Nack(o.Ctx, o.ada, in.Messages[0].Seq, "not now", time.Hour); err != nil {
		t.Fatal(err)
	}
	want("what was put off for an hour", start)
	dbfactory.Exec(t, o.DB, `UPDATE message_delivery SET not_before = now() WHERE not_before IS NOT NULL`)
	now := want("what was put off until now", start, own)
	want("what was put off until the look before", now)
	dbfactory.Exec(t, o.DB, `UPDATE message_delivery SET taken_until = now() WHERE taken_until IS NOT NULL`)
	want("what a dead reader has", now, role)
}
