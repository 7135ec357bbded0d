package bus

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Archive describes dropped messages. Its blob has them in their order, each as a line with the
// JSON object that readers of an inbox get, compressed with gzip.
type Archive struct {
	First    int64     `json:"first_seq"`
	Last     int64     `json:"last_seq"`
	Messages int       `json:"messages"`
	Blob     blobs.Sum `json:"blob"`
	Size     int64     `json:"size"`
	At       time.Time `json:"at"`
}

// maxArchive is how large an archive grows, in bytes: below the least size that blobs may be
// limited to.
const maxArchive = 512 << 10

// archives reads the archives of a database.
type archives struct{ db *db.DB }

// Archives returns the archives with messages before a position, 0 for the newest, the newest
// first. They are for people who run the fleet.
func (a *archives) Archives(ctx context.Context, who tenancy.Principal, before int64, limit int) (list []Archive, err error) {
	if err := mayRunFleet(who); err != nil {
		return nil, err
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	err = a.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err = archivesTx(ctx, tx, who.Workspace, before, limit)
		return err
	})
	return list, err
}

// errMessageHeld means that not all messages could be dropped any more.
var errMessageHeld = errors.New("a message is in an inbox again, or gone")

// archive stores messages as a blob, and then drops exactly those, in one transaction with
// the row of the archive: where the process ends in between, a blob is left that nothing
// refers to, and the next call stores the same one. It returns how many messages it dropped: 0
// where some of them cannot be dropped any more, or somebody else has dropped them.
func (s sweep) archive(ctx context.Context, seqs []int64) (n int, err error) {
	var list []Message
	err = s.db.In(ctx, db.Workspace(s.workspace), func(tx db.Tx) error {
		list, err = bySeqsTx(ctx, tx, s.workspace, seqs)
		return err
	})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	packed, list, err := pack(list)
	if err != nil {
		return 0, err
	}
	who := tenancy.System(s.workspace, "fleetboard")
	blob, err := s.blobs.Keep(ctx, who, bytes.NewReader(packed))
	if err != nil {
		return 0, err
	}
	err = s.db.In(ctx, db.Workspace(s.workspace), func(tx db.Tx) error {
		return s.replaceTx(ctx, tx, who, list, blob.Sum)
	})
	if errors.Is(err, errMessageHeld) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return len(list), nil
}

// replaceTx drops messages and adds the archive that has them, which refers to its own blob and to
// the blobs of the messages.
func (s sweep) replaceTx(ctx context.Context, tx db.Tx, who tenancy.Principal, list []Message, packed blobs.Sum) error {
	id := ids.New()
	seqs := make([]int64, 0, len(list))
	sums := map[blobs.Sum]bool{packed: true}
	for _, m := range list {
		seqs = append(seqs, m.Seq)
		if sum, err := blobs.ParseSum(m.Blob); err == nil {
			sums[sum] = true
		}
	}
	if err := insertArchiveTx(ctx, tx, who.Workspace, id, seqs, packed); err != nil {
		return err
	}
	for sum := range sums {
		if err := s.blobs.ReferTx(ctx, tx, who, sum, blobs.Ref{Archive: id}); err != nil {
			return err
		}
	}
	dropped, err := q.MessageDrop(ctx, tx, who.Workspace, seqs, s.before)
	if err != nil {
		return err
	}
	if len(dropped) < len(seqs) {
		return errMessageHeld
	}
	return s.blobs.ForgetMessagesTx(ctx, tx, who.Workspace, dropped)
}

// archivedMessage is a line of an archive.
type archivedMessage struct {
	Seq           int64           `json:"seq"`
	ID            ids.ID          `json:"id"`
	Type          string          `json:"type"`
	From          archivedAddress `json:"from"`
	To            archivedAddress `json:"to"`
	CorrelationID string          `json:"correlation_id"`
	InReplyTo     string          `json:"in_reply_to"`
	Job           string          `json:"job"`
	Payload       json.RawMessage `json:"payload"`
	Blob          string          `json:"blob"`
	At            time.Time       `json:"at"`
	ExpiresAt     *time.Time      `json:"expires_at"`
}

type archivedAddress struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	ID   string `json:"id"`
}

func archiveMessage(m Message) archivedMessage {
	l := archivedMessage{Seq: m.Seq, ID: m.ID, Type: m.Type, From: archiveAddress(m.From), To: archiveAddress(m.To),
		CorrelationID: m.CorrelationID, InReplyTo: idText(m.InReplyTo), Job: m.JobKey, Payload: m.Payload, Blob: m.Blob, At: m.At.UTC()}
	if m.ExpiresAt != nil {
		expires := m.ExpiresAt.UTC()
		l.ExpiresAt = &expires
	}
	return l
}

func archiveAddress(a Address) archivedAddress { return archivedAddress{a.Kind, a.Name, idText(a.ID)} }

// idText returns an id as text, empty for none.
func idText(id ids.ID) string {
	if id == ids.Nil {
		return ""
	}
	return id.String()
}

// pack compresses messages, each as a line, until an archive is full, and returns which messages it
// holds. The same messages give the same bytes.
func pack(list []Message) (packed []byte, in []Message, err error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	lines := json.NewEncoder(zip)
	lines.SetEscapeHTML(false)
	for i := 0; i < len(list) && out.Len() < maxArchive; i++ {
		if err := lines.Encode(archiveMessage(list[i])); err != nil {
			return nil, nil, err
		}
		in = list[:i+1]
	}
	err = zip.Close()
	return out.Bytes(), in, err
}
