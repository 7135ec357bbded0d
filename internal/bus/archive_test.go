package bus_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// age moves what was said, and what was archived, back by days.
func (p *post) age(days int) {
	p.T.Helper()
	dbfactory.Exec(p.T, p.DB, `UPDATE message SET at = at - make_interval(days => $1)`, days)
	dbfactory.Exec(p.T, p.DB, `UPDATE message_archive SET at = at - make_interval(days => $1)`, days)
}

// sweep drops what is old until nothing is left to do.
func (p *post) sweep() {
	p.T.Helper()
	for n := 1; n > 0; {
		var err error
		if n, err = p.bus.DropOld(p.Ctx); err != nil {
			p.T.Fatal(err)
		}
	}
}

// kept returns the texts of the messages that are there.
func (p *post) kept() (left []string) {
	p.T.Helper()
	list, err := p.bus.Page(p.Ctx, p.Owner, bus.Filter{}, 0, 100)
	if err != nil {
		p.T.Fatal(err)
	}
	left = texts(list)
	for i, j := 0, len(left)-1; i < j; i, j = i+1, j-1 {
		left[i], left[j] = left[j], left[i]
	}
	return left
}

// archived returns the lines of all archives, the oldest first.
func (p *post) archived(contents *blobs.Service) (lines []bus.Message) {
	p.T.Helper()
	list, err := p.bus.Archives(p.Ctx, p.Owner, 0, 100)
	if err != nil {
		p.T.Fatal(err)
	}
	for _, a := range list {
		r, err := contents.Open(p.Ctx, p.Owner, a.Blob)
		if err != nil {
			p.T.Fatal(err)
		}
		plain, err := gzip.NewReader(r)
		if err != nil {
			p.T.Fatal(err)
		}
		var here []bus.Message
		for read := json.NewDecoder(plain); ; {
			var m struct {
				Seq     int64
				ID      ids.ID
				Payload json.RawMessage
				Blob    string
			}
			if err := read.Decode(&m); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				p.T.Fatal(err)
			}
			here = append(here, bus.Message{Seq: m.Seq, ID: m.ID, Payload: m.Payload, Blob: m.Blob})
		}
		if len(here) != a.Messages || here[0].Seq != a.First || here[len(here)-1].Seq != a.Last {
			p.T.Errorf("the archive %+v has %d messages", a, len(here))
		}
		lines = append(here, lines...)
	}
	return lines
}

// ack takes messages out of all inboxes, as their readers do.
func (p *post) ack(list ...bus.Sent) {
	p.T.Helper()
	for _, m := range list {
		dbfactory.Exec(p.T, p.DB, `DELETE FROM message_delivery WHERE seq = $1`, m.Seq)
	}
}

// What nobody holds is archived after 90 days, exactly that, and then dropped. What an inbox
// holds stays, as a dead letter too, until it was acknowledged or expires.
func TestOldMessagesAreArchivedBeforeTheyAreDropped(t *testing.T) {
	p := newPost(t)
	contents := p.withBlobs(blobs.Options{})
	ada := p.as("ada")
	p.as("bob")
	large := note(agent("bob"), strings.Repeat("large ", 2000))
	sent := p.send(ada, note(agent("bob"), "read"), note(agent("bob"), "unread"), note(agent("bob"), "dead"), note(agent("bob"), "expired"), large)
	p.ack(sent[0], sent[4])
	dbfactory.Exec(t, p.DB, `UPDATE message_delivery SET dead_at = now() WHERE seq = $1`, sent[2].Seq)
	dbfactory.Exec(t, p.DB, `UPDATE message_delivery SET expires_at = now() - interval '1 hour' WHERE seq = $1`, sent[3].Seq)
	p.sweep()
	if n := len(p.kept()); n != 5 {
		t.Fatalf("%d messages are left of today", n)
	}
	p.age(91)
	young := p.send(ada, note(agent("bob"), "young"))
	p.ack(young...)
	p.sweep()
	if diff := cmp.Diff([]string{"unread", "dead", "young"}, p.kept()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	lines := p.archived(contents)
	if len(lines) != 3 || lines[0].ID != sent[0].ID || lines[1].ID != sent[3].ID || lines[2].ID != sent[4].ID {
		t.Fatalf("archived %+v", lines)
	}
	if diff := cmp.Diff([]string{"read", "expired"}, texts(lines[:2])); diff != "" {
		t.Errorf("archived (-want +got):\n%s", diff)
	}
	// The payload that is a blob is kept with the archive that names it.
	dbfactory.Exec(t, p.DB, `UPDATE blob SET free_since = now() - interval '2 days' WHERE free_since IS NOT NULL`)
	if _, err := contents.Collect(p.Ctx); err != nil {
		t.Fatal(err)
	}
	if said := p.content(contents, p.Owner, lines[2]); said != string(large.Payload) {
		t.Errorf("the large payload has %d bytes", len(said))
	}
	p.age(365)
	p.sweep()
	if n := len(p.archived(contents)); n != 1 { // the one of "young", made just now
		t.Errorf("%d messages are archived after a year", n)
	}
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM blob_ref WHERE archive_id IS NOT NULL`); n != 1 {
		t.Errorf("%d references of archives are left", n)
	}
}

// What an export that moves has not passed stays; one that stands still for 90 days, or never
// moved, keeps nothing.
func TestAnExportKeepsWhatItHasNotPassed(t *testing.T) {
	p := newPost(t)
	p.withBlobs(blobs.Options{})
	p.as("ada")
	sent := p.send(p.Owner, note(agent("ada"), "passed"), note(agent("ada"), "ahead"))
	p.ack(sent...)
	for name, place := range map[string]int64{"moves": sent[0].Seq, "idle": 0} {
		if _, err := p.bus.CreateExport(p.Ctx, p.Owner, name, bus.Messages, nil); err != nil {
			t.Fatal(err)
		}
		if place == 0 {
			continue
		}
		dbfactory.Readable(t, p.DB)
		if _, _, err := p.bus.Next(p.Ctx, p.Owner, name, "", 10); err != nil {
			t.Fatal(err)
		}
		if _, err := p.bus.AckExport(p.Ctx, p.Owner, name, strconv.FormatInt(place, 10)); err != nil {
			t.Fatal(err)
		}
	}
	p.age(91)
	p.sweep()
	if diff := cmp.Diff([]string{"ahead"}, p.kept()); diff != "" {
		t.Errorf("while it moves (-want +got):\n%s", diff)
	}
	dbfactory.Exec(t, p.DB, `UPDATE message_export SET acked_at = acked_at - interval '91 days'`)
	p.sweep()
	if left := p.kept(); len(left) > 0 {
		t.Errorf("once it stands still %v are left", left)
	}
}

// Many messages that are held hide none behind them.
func TestHeldMessagesHideNoneBehindThem(t *testing.T) {
	p := newPost(t)
	contents := p.withBlobs(blobs.Options{})
	p.as("ada")
	for range 3 {
		list := make([]bus.Draft, 500)
		for i := range list {
			list[i] = note(agent("ada"), "held")
		}
		p.send(p.Owner, list...)
	}
	last := p.send(p.Owner, note(agent("ada"), "behind"))[0]
	p.ack(last)
	p.age(91)
	p.sweep()
	if lines := p.archived(contents); len(lines) != 1 || lines[0].ID != last.ID {
		t.Errorf("archived %+v", lines)
	}
}

// Where there is no space for an archive the messages stay, and an error says so.
func TestWhatCannotBeArchivedStays(t *testing.T) {
	p := newPost(t)
	p.withBlobs(blobs.Options{MaxTotal: 1})
	p.as("ada")
	p.ack(p.send(p.Owner, note(agent("ada"), "stays"))...)
	p.age(91)
	if _, err := p.bus.DropOld(p.Ctx); !fault.Is(err, fault.StorageFull) {
		t.Errorf("without room: %v", err)
	}
	if diff := cmp.Diff([]string{"stays"}, p.kept()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// killed is a store of blobs whose process dies once an archive was stored.
type killed struct {
	*blobs.Service

	after func()
}

var errKilled = errors.New("killed")

func (k killed) Keep(ctx context.Context, who tenancy.Principal, r io.Reader) (blobs.Blob, error) {
	b, err := k.Service.Keep(ctx, who, r)
	if err == nil && k.after != nil {
		k.after()
		return b, nil
	}
	return b, errors.Join(err, errKilled)
}

// A process that dies between archive and drop loses nothing: the next one stores the same
// archive, once. What was redriven, or dropped by another process, in between is not in it.
func TestAnArchiveIsMadeOnce(t *testing.T) {
	p := newPost(t)
	contents := p.withBlobs(blobs.Options{})
	p.as("ada")
	sent := p.send(p.Owner, note(agent("ada"), "one"), note(agent("ada"), "two"))
	p.ack(sent...)
	p.age(91)
	p.start(killed{contents, nil})
	if _, err := p.bus.DropOld(p.Ctx); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	if n := len(p.kept()); n != 2 || len(p.archived(contents)) != 0 {
		t.Fatalf("%d messages are left", n)
	}
	hold := func() {
		dbfactory.Exec(t, p.DB, `INSERT INTO message_delivery (workspace_id, inbox, seq) SELECT workspace_id, 'role:worker', seq
			FROM message WHERE seq = $1`, sent[1].Seq)
	}
	p.start(killed{contents, hold})
	if n, err := p.bus.DropOld(p.Ctx); n != 0 || err != nil {
		t.Fatalf("%d went, %v", n, err)
	}
	if n := len(p.kept()); n != 2 || len(p.archived(contents)) != 0 {
		t.Fatalf("%d messages are left", n)
	}
	dbfactory.Exec(t, p.DB, `DELETE FROM message_delivery`)
	other := killed{contents, func() {
		p.start(contents)
		p.sweep() // another process is faster
	}}
	p.start(other)
	if _, err := p.bus.DropOld(p.Ctx); err != nil {
		t.Fatal(err)
	}
	if lines := p.archived(contents); len(p.kept()) != 0 || len(lines) != 2 {
		t.Errorf("archived %+v", lines)
	}
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM blob`); n != 1 {
		t.Errorf("%d blobs were stored", n)
	}
}
