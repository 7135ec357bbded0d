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

// Archive is a piece of dropped messages. Its blob has them in their order, a JSON object in
// each line as readers of an inbox get it, packed with gzip.
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

// archives are those of a database.
type archives struct{ db *db.DB }

// Archives reads those with messages before a position, 0 for the newest, the newest first.
// They are for people who run the fleet.
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

// errHeldAgain says that not all of a piece could go any more.
var errHeldAgain = errors.New("a message of the piece is held again, or gone")

// archive stores messages as a blob, and then drops exactly those, in one transaction with
// the row of the archive: where it ends in between, a blob is left that nothing names, and
// the next call stores the same one. It returns how many messages went: 0 where some of them
// can go no more, or somebody else has dropped them.
func (s sweep) archive(ctx context.Context, piece []int64) (n int, err error) {
	var list []Message
	err = s.db.In(ctx, db.Workspace(s.workspace), func(tx db.Tx) error {
		list, err = bySeqsTx(ctx, tx, s.workspace, piece)
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
	kept, err := s.blobs.Keep(ctx, who, bytes.NewReader(packed))
	if err != nil {
		return 0, err
	}
	err = s.db.In(ctx, db.Workspace(s.workspace), func(tx db.Tx) error {
		return s.replaceTx(ctx, tx, who, list, kept.Sum)
	})
	if errors.Is(err, errHeldAgain) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return len(list), nil
}

// replaceTx drops messages and adds the archive that has them, which names its own blob and
// those of the messages.
func (s sweep) replaceTx(ctx context.Context, tx db.Tx, who tenancy.Principal, list []Message, packed blobs.Sum) error {
	id, seqs, named := ids.New(), make([]int64, 0, len(list)), map[blobs.Sum]bool{packed: true}
	for _, m := range list {
		seqs = append(seqs, m.Seq)
		if sum, err := blobs.ParseSum(m.Blob); err == nil {
			named[sum] = true
		}
	}
	if err := insertArchiveTx(ctx, tx, who.Workspace, id, seqs, packed); err != nil {
		return err
	}
	for sum := range named {
		if err := s.blobs.ReferTx(ctx, tx, who, sum, blobs.Ref{Archive: id}); err != nil {
			return err
		}
	}
	gone, err := q.MessageDrop(ctx, tx, who.Workspace, seqs, s.before)
	if err != nil {
		return err
	}
	if len(gone) < len(seqs) {
		return errHeldAgain
	}
	return s.blobs.ForgetMessagesTx(ctx, tx, who.Workspace, gone)
}

// line is a message as an archive has it.
type line struct {
	Seq           int64           `json:"seq"`
	ID            ids.ID          `json:"id"`
	Type          string          `json:"type"`
	From          lineAddress     `json:"from"`
	To            lineAddress     `json:"to"`
	CorrelationID string          `json:"correlation_id"`
	InReplyTo     string          `json:"in_reply_to"`
	Job           string          `json:"job"`
	Payload       json.RawMessage `json:"payload"`
	Blob          string          `json:"blob"`
	At            time.Time       `json:"at"`
	ExpiresAt     *time.Time      `json:"expires_at"`
}

type lineAddress struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	ID   string `json:"id"`
}

func toLine(m Message) line {
	l := line{Seq: m.Seq, ID: m.ID, Type: m.Type, From: toLineAddress(m.From), To: toLineAddress(m.To), CorrelationID: m.CorrelationID,
		InReplyTo: idText(m.InReplyTo), Job: m.JobKey, Payload: m.Payload, Blob: m.Blob, At: m.At.UTC()}
	if m.ExpiresAt != nil {
		expires := m.ExpiresAt.UTC()
		l.ExpiresAt = &expires
	}
	return l
}

func toLineAddress(a Address) lineAddress { return lineAddress{a.Kind, a.Name, idText(a.ID)} }

// idText returns an id as text, empty for none.
func idText(id ids.ID) string {
	if id == ids.Nil {
		return ""
	}
	return id.String()
}

// pack writes messages as lines, packed, until they are as many as an archive has, and
// returns which those are. The same messages give the same bytes.
func pack(list []Message) (packed []byte, in []Message, err error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	lines := json.NewEncoder(zip)
	lines.SetEscapeHTML(false)
	for i := 0; i < len(list) && out.Len() < maxArchive; i++ {
		if err := lines.Encode(toLine(list[i])); err != nil {
			return nil, nil, err
		}
		in = list[:i+1]
	}
	err = zip.Close()
	return out.Bytes(), in, err
}
