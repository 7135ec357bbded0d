package seal

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strconv"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// digestSize is the size of a SHA-256, in bytes.
const digestSize = sha256.Size

// digester hashes named values so that no two lists of them have one form.
type digester struct{ hash hash.Hash }

func newDigester(kind string) digester {
	d := digester{sha256.New()}
	d.bytes("fleetboard "+kind, nil)
	return d
}

func (d digester) bytes(name string, value []byte) {
	var size [8]byte
	for _, part := range [][]byte{[]byte(name), value} {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		d.hash.Write(size[:])
		d.hash.Write(part)
	}
}

func (d digester) text(name, value string) { d.bytes(name, []byte(value)) }

func (d digester) number(name string, value int64) { d.text(name, strconv.FormatInt(value, 10)) }

func (d digester) numbers(name string, values []int64) {
	d.number(name, int64(len(values)))
	for _, v := range values {
		d.number(name, v)
	}
}

func (d digester) sum() []byte { return d.hash.Sum(nil) }

// digest returns the event's SHA-256. A column that is null adds nothing, so that a
// nullable column can be added to the table without changing older digests.
func (e event) digest(workspace ids.ID) []byte {
	d := newDigester("event v1")
	d.text("workspace_id", workspace.String())
	d.number("id", e.ID)
	d.text("xid", e.Xid)
	d.text("type", e.Type)
	if e.JobID != nil {
		d.text("job_id", e.JobID.String())
	}
	d.text("actor", e.Actor)
	d.text("actor_kind", e.ActorKind)
	d.text("actor_id", e.ActorID)
	if e.Epoch != nil {
		d.number("epoch", *e.Epoch)
	}
	d.number("at", e.At.UnixMicro())
	if e.SavedAt != nil {
		d.number("saved_at", e.SavedAt.UnixMicro())
	}
	d.bytes("changes", e.Changes)
	d.bytes("payload", e.Payload)
	return d.sum()
}

// sum returns the digest of the block: of everything it says, and by the digest before
// it of all blocks since the chain was opened.
func (b block) sum(workspace ids.ID) []byte {
	d := newDigester("log seal v1")
	d.text("workspace_id", workspace.String())
	d.number("number", b.number)
	d.text("opens", strconv.FormatBool(b.opens))
	d.text("to_xid", b.to.xid)
	d.number("to_id", b.to.id)
	d.numbers("event_ids", b.events)
	d.bytes("event_digests", b.digests)
	d.bytes("previous", b.previous)
	return d.sum()
}

// sum returns the digest of the fold.
func (f fold) sum(workspace ids.ID) []byte {
	d := newDigester("log fold v1")
	d.text("workspace_id", workspace.String())
	d.number("event_id", f.event)
	d.bytes("event_digest", f.digest)
	d.numbers("removed_ids", f.removed)
	return d.sum()
}
