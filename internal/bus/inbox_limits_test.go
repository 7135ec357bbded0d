package bus_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// notes are n messages to somebody.
func notes(to bus.Address, n int) []bus.Draft {
	list := make([]bus.Draft, n)
	for i := range list {
		list[i] = note(to, fmt.Sprint(i))
	}
	return list
}

// held returns how many messages of a sender are in the inbox of an agent.
func (p *post) held(of, from tenancy.Principal) int {
	p.T.Helper()
	return dbfactory.Int(p.T, p.DB, `SELECT count(*) FROM message_delivery d JOIN message m USING (workspace_id, seq)
		WHERE d.inbox = 'agent:' || $1::text AND m.from_name = $2`, of.Agent, from.Name)
}

// fill puts messages of a sender into the inbox of an agent, without sending them.
func (p *post) fill(of tenancy.Principal, from any, n int) {
	p.T.Helper()
	dbfactory.Exec(p.T, p.DB, `WITH base AS (SELECT coalesce(max(seq), 0) AS seq FROM message WHERE seq < 1000000), said AS (
			INSERT INTO message (workspace_id, seq, id, type, from_kind, from_id, from_name, to_kind, to_name, correlation_id, digest)
			SELECT $1, base.seq + i, gen_random_uuid(), 'custom.fill', 'agent', $3::uuid, 'fill', 'agent', 'x', 'fill', decode(repeat('00', 32), 'hex')
			FROM base, generate_series(1, $4::int) i RETURNING seq)
		INSERT INTO message_delivery (workspace_id, inbox, seq, from_id) SELECT $1, 'agent:' || $2::text, seq, $3::uuid FROM said`,
		p.Workspace, of.Agent, from, n)
}

// One sender at full speed fills its share of an inbox and no more, by single messages and by
// lists at the same moment, and gets an error that says so; others and the server go on.
func TestASenderFillsItsShare(t *testing.T) {
	p := newPost(t)
	ada, flood, bob := p.as("ada"), p.as("flood"), p.as("bob")
	var sent atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			each := []int{1, 200, 3, 500}[i%4]
			for range 2000 {
				res, err := p.bus.Publish(p.Ctx, flood, notes(agent("ada"), each)...)
				sent.Add(int64(len(res)))
				if err == nil {
					continue
				}
				if f := fault.From(err); f == nil || f.Code != fault.TooMany || f.Details["retry_after"] == nil {
					t.Error(err)
				}
				return
			}
			t.Error("it was never told to stop")
		})
	}
	all.Wait()
	for err := error(nil); err == nil; {
		var res []bus.Sent
		res, err = p.bus.Publish(p.Ctx, flood, note(agent("ada"), "more"))
		sent.Add(int64(len(res)))
	}
	// What short calls had under way when the inbox became crowded may come on top.
	if n := p.held(ada, flood); n < bus.MaxFromOne || n > bus.MaxFromOne+64 || int64(n) != sent.Load() {
		t.Errorf("the inbox holds %d messages of the flood, of %d that were sent; want %d", n, sent.Load(), bus.MaxFromOne)
	}
	p.send(bob, note(agent("ada"), "of bob"))
	p.send(p.Owner, note(agent("ada"), "of a person"))
	p.send(tenancy.System(p.Workspace, "fleetboard"), note(agent("ada"), "of the server"))
	p.send(flood, note(agent("bob"), "elsewhere"))
	// A list that would be beyond the share is refused as a whole; acknowledged ones free space.
	got := p.read(ada, bus.Query{})
	if n, err := p.bus.AckUpTo(p.Ctx, ada, got.Next); err != nil || n == 0 {
		t.Fatal(n, err)
	}
	free := bus.MaxFromOne - p.held(ada, flood)
	if _, err := p.bus.Publish(p.Ctx, flood, notes(agent("ada"), free+1)...); !fault.Is(err, fault.TooMany) {
		t.Errorf("%d messages where %d have room: %v", free+1, free, err)
	}
	p.send(flood, notes(agent("ada"), free)...)
}

// Long lists that arrive together each count what the others added, also where the inbox is
// not crowded when they arrive.
func TestListsCountEachOther(t *testing.T) {
	p := newPost(t)
	ada, flood := p.as("ada"), p.as("flood")
	p.fill(ada, flood.Agent, bus.MaxFromOne/2-1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := p.bus.Publish(p.Ctx, flood, notes(agent("ada"), 500)...); err != nil && !fault.Is(err, fault.TooMany) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM message_delivery`); n != bus.MaxFromOne-1 {
		t.Errorf("the inbox holds %d messages; want %d", n, bus.MaxFromOne-1)
	}
}

// Five senders fill an inbox; a sixth waits, and the server does not. Beyond as many notices
// the oldest of them go.
func TestTheServerAlwaysHasRoom(t *testing.T) {
	p := newPost(t)
	ada, bob := p.as("ada"), p.as("bob", "orchestrator")
	server := tenancy.System(p.Workspace, "fleetboard")
	for i := range 5 {
		p.fill(ada, p.Agent(fmt.Sprint("flood-", i)).Agent, bus.MaxFromOne)
	}
	if _, err := p.bus.Publish(p.Ctx, bob, note(agent("ada"), "no room")); !fault.Is(err, fault.TooMany) {
		t.Errorf("a sixth sender: %v", err)
	}
	p.send(server, notes(agent("ada"), 300)...)
	if n := p.held(ada, server); n != 300 {
		t.Fatalf("%d notices arrived; want 300", n)
	}
	p.fill(ada, nil, bus.MaxInbox-300)
	p.send(server, note(agent("ada"), "one more"), note(agent("ada"), "and another"))
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM message_delivery WHERE from_id IS NULL`); n != bus.MaxInbox {
		t.Errorf("the inbox holds %d notices; want %d", n, bus.MaxInbox)
	}
	if n := p.held(ada, server); n != 302 { // those that were filled in stand before them
		t.Errorf("%d of the newest notices are there; want 302", n)
	}
	// What is for all leaves out the full inbox, and is refused where nobody has space.
	p.send(bob, note(bus.Address{Kind: bus.ToAll}, "to all"))
	if n := p.held(ada, bob); n != 0 {
		t.Errorf("%d messages for all went into a full inbox", n)
	}
	dbfactory.Exec(t, p.DB, `UPDATE agent SET last_heartbeat_at = now() - interval '1 day' WHERE name <> 'ada'`)
	if _, err := p.bus.Publish(p.Ctx, bob, note(bus.Address{Kind: bus.ToAll}, "to nobody")); !fault.Is(err, fault.TooMany) {
		t.Errorf("for all where nobody has room: %v", err)
	}
}
