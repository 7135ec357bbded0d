package seal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Store keeps the marks outside the database. Load gives nil where there are none.
type Store interface {
	Load(ctx context.Context) ([]byte, error)
	Save(ctx context.Context, marks []byte) error
}

// marks say how far each log was sealed when somebody last looked.
type marks struct {
	Format int       `json:"format"` // 1
	At     time.Time `json:"at"`
	// Signers are the public keys under which blocks were signed so far, the newest
	// last: the server's secret key may have been changed since.
	Signers   [][]byte        `json:"signers"`
	Logs      map[ids.ID]mark `json:"logs"`
	Signature []byte          `json:"signature"` // of all the rest
}

// mark names the last block of a log.
type mark struct {
	Number int64  `json:"number"`
	Digest []byte `json:"digest"`
}

var errMarksForged = errors.New("the marks of the log are not signed by this server: set FLEETBOARD_PREVIOUS_SECRET_KEY " +
	"where its secret key was changed; otherwise somebody wrote them")

// sum returns what the signature of the marks covers.
func (m marks) sum() ([]byte, error) {
	m.Signature = nil
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode marks: %w", err)
	}
	d := newDigester("log marks v1")
	d.bytes("marks", text)
	return d.sum(), nil
}

// loadMarks reads the marks; there are none on the first start.
func loadMarks(ctx context.Context, store Store, keys *Keys) (marks, error) {
	text, err := store.Load(ctx)
	if err != nil {
		return marks{}, fmt.Errorf("read the marks of the log: %w", err)
	}
	m := marks{Format: 1, Logs: map[ids.ID]mark{}}
	if text == nil {
		return m, nil
	}
	if err := json.Unmarshal(text, &m); err != nil || len(m.Signers) == 0 {
		return marks{}, errMarksForged
	}
	sum, err := m.sum()
	if err != nil {
		return marks{}, err
	}
	if !keys.trusts(sum, signature{m.Signers[len(m.Signers)-1], m.Signature}) {
		return marks{}, errMarksForged
	}
	return m, nil
}

func (m marks) save(ctx context.Context, store Store, keys *Keys) error {
	signer := []byte(keys.trusted[0])
	var earlier [][]byte
	for _, s := range m.Signers {
		if !bytes.Equal(s, signer) {
			earlier = append(earlier, s)
		}
	}
	m.Signers = append(earlier, signer)
	m.At = time.Now().UTC().Truncate(time.Second)
	sum, err := m.sum()
	if err != nil {
		return err
	}
	m.Signature = keys.sign(sum).bytes
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encode marks: %w", err)
	}
	if err := store.Save(ctx, append(text, '\n')); err != nil {
		return fmt.Errorf("write the marks of the log: %w", err)
	}
	return nil
}

// Cut is a log that ends before its mark or went another way.
type Cut struct {
	Workspace ids.ID
	Block     int64 // that the log had, and does not have any more
	Detail    string
}

// Keep moves the marks on to the last blocks, and returns the logs that were cut:
// their marks stay where they are. Every process that has a store of its own calls
// it now and then.
func Keep(ctx context.Context, d *db.DB, keys *Keys, store Store) ([]Cut, error) {
	m, err := loadMarks(ctx, store, keys)
	if err != nil {
		return nil, err
	}
	var heads map[ids.ID]block
	var cuts []Cut
	err = d.In(ctx, db.System, func(tx db.Tx) (err error) {
		if heads, err = headsTx(ctx, tx); err == nil {
			cuts, err = cutTx(ctx, tx, m, heads)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if m.advance(keys, heads, cuts) {
		return cuts, m.save(ctx, store, keys)
	}
	return cuts, nil
}

// advance moves the marks to signed heads, but for those of cut logs, and reports
// whether one moved.
func (m marks) advance(keys *Keys, heads map[ids.ID]block, cuts []Cut) (moved bool) {
	held := map[ids.ID]bool{}
	for _, c := range cuts {
		held[c.Workspace] = true
	}
	for workspace, head := range heads {
		if held[workspace] || m.Logs[workspace].Number == head.number || !keys.trusts(head.digest, head.signed, m.Signers...) {
			continue
		}
		m.Logs[workspace] = mark{head.number, head.digest}
		moved = true
	}
	return moved
}

// cutTx compares logs with their marks.
func cutTx(ctx context.Context, tx db.Tx, m marks, heads map[ids.ID]block) ([]Cut, error) {
	if len(m.Logs) == 0 {
		return nil, nil
	}
	numbers := make(map[ids.ID]int64, len(m.Logs))
	for workspace, at := range m.Logs {
		numbers[workspace] = at.Number
	}
	digests, err := digestsTx(ctx, tx, numbers)
	if err != nil {
		return nil, err
	}
	var cuts []Cut
	for workspace, at := range m.Logs {
		switch digest, there := digests[workspace]; {
		case !there:
			cuts = append(cuts, Cut{workspace, at.Number, fmt.Sprintf(
				"it was sealed up to block %d and ends at block %d: it was cut, or is an older copy", at.Number, heads[workspace].number)})
		case !bytes.Equal(digest, at.Digest):
			cuts = append(cuts, Cut{workspace, at.Number,
				fmt.Sprintf("its block %d is not the one that was sealed: it is another copy", at.Number)})
		}
	}
	return cuts, nil
}

// Forget accepts the logs as they are now, whatever the marks say.
func Forget(ctx context.Context, d *db.DB, keys *Keys, store Store) error {
	m := marks{Format: 1, Logs: map[ids.ID]mark{}}
	// Keys that were trusted before go on to be, where the marks can be read.
	if old, err := loadMarks(ctx, store, keys); err == nil {
		m.Signers = old.Signers
	}
	return d.In(ctx, db.System, func(tx db.Tx) error {
		heads, err := headsTx(ctx, tx)
		if err != nil {
			return err
		}
		m.advance(keys, heads, nil)
		return m.save(ctx, store, keys)
	})
}
