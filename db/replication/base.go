package replication

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"
)

// The archives of a base backup, in the order in which they come.
const (
	// Archive is a tar of the cluster.
	Archive = "base.tar"
	// Manifest lists the files of the cluster with their SHA-256, for pg_verifybackup.
	Manifest = "backup_manifest"
)

const slotOfBase = "fleetboard_base"

// ErrTablespaces says that parts of the cluster lie outside its directory.
var ErrTablespaces = errors.New("the database server has tablespaces of its own, which a copy of the cluster would not have")

// Base says what a base backup has.
type Base struct {
	// Start and End are the places between which the log has to be replayed.
	Start, End LSN
	Timeline   uint32
}

// BaseBackup copies the cluster while it is used, with the write-ahead log that makes the copy whole.
// open is called for each archive and gets its bytes; the writer is closed when they were all
// written. progress is told how many bytes were read of about how many, again and again.
func (c *Conn) BaseBackup(ctx context.Context, label string, open func(archive string) (io.WriteCloser, error),
	progress func(done, total int64)) (Base, error) {
	// Without a slot a busy server would recycle the log before it was copied.
	if err := c.HoldLog(ctx, slotOfBase); err != nil {
		return Base{}, err
	}
	err := c.send("BASE_BACKUP (LABEL '" + label + "', PROGRESS true, CHECKPOINT 'fast', WAL true, WAIT false, " +
		"MANIFEST 'yes', MANIFEST_CHECKSUMS 'SHA256')")
	if err != nil {
		return Base{}, err
	}
	b := base{open: open, progress: progress}
	for {
		message, err := c.receive(ctx)
		if err == nil {
			var done bool
			if done, err = b.take(message); done && err == nil {
				return b.result()
			}
		}
		if err != nil {
			return Base{}, errors.Join(err, b.close())
		}
	}
}

// base reads the answer to BASE_BACKUP: the place where it starts, the tablespaces, archives, the
// place where it ends.
type base struct {
	open     func(archive string) (io.WriteCloser, error)
	progress func(done, total int64)

	rows    [][]string
	spaces  int // how many rows are tablespaces
	total   int64
	archive io.WriteCloser
}

func (b *base) take(message pgproto3.BackendMessage) (done bool, err error) {
	switch m := message.(type) {
	case *pgproto3.DataRow:
		row := make([]string, len(m.Values))
		for i, value := range m.Values {
			row[i] = string(value)
		}
		b.rows = append(b.rows, row)
	case *pgproto3.CopyOutResponse:
		return false, b.begin()
	case *pgproto3.CopyData:
		return false, b.piece(m.Data)
	case *pgproto3.CopyDone:
		return false, b.close()
	case *pgproto3.ReadyForQuery:
		return true, nil
	}
	return false, nil
}

// begin looks at the rows before the archives.
func (b *base) begin() error {
	b.spaces = len(b.rows) - 1
	if b.spaces > 1 {
		return ErrTablespaces
	}
	if b.spaces == 1 && len(b.rows[1]) == 3 {
		kilobytes, err := strconv.ParseInt(b.rows[1][2], 10, 64)
		if err == nil {
			b.total = kilobytes << 10
		}
	}
	return nil
}

// piece takes a message of the copy; its first byte says which kind it is of.
func (b *base) piece(data []byte) error {
	if len(data) == 0 {
		return errors.New("the server sent an empty piece of the backup")
	}
	body := data[1:]
	switch data[0] {
	case 'n':
		name, _, _ := bytes.Cut(body, []byte{0})
		return b.next(string(name))
	case 'm':
		return b.next(Manifest)
	case 'd':
		if b.archive == nil {
			return errors.New("the server sent bytes of no archive")
		}
		_, err := b.archive.Write(body)
		return err
	case 'p':
		if len(body) == 8 && b.progress != nil {
			done := int64(binary.BigEndian.Uint64(body)) //nolint:gosec // a count of bytes
			b.progress(done, max(b.total, done))
		}
		return nil
	}
	return fmt.Errorf("the server sent a piece of the unknown kind %q", data[0])
}

func (b *base) next(archive string) error {
	if archive != Archive && archive != Manifest {
		return ErrTablespaces
	}
	if err := b.close(); err != nil {
		return err
	}
	var err error
	b.archive, err = b.open(archive)
	return err
}

func (b *base) close() error {
	if b.archive == nil {
		return nil
	}
	err := b.archive.Close()
	b.archive = nil
	return err
}

// result reads the first and the last row, each a place and a timeline.
func (b *base) result() (is Base, err error) {
	if len(b.rows) != b.spaces+2 {
		return is, errors.New("the server did not say where the backup ends")
	}
	first, last := b.rows[0], b.rows[len(b.rows)-1]
	if is.Start, err = ParseLSN(first[0]); err != nil {
		return is, err
	}
	if is.End, err = ParseLSN(last[0]); err != nil {
		return is, err
	}
	timeline, err := strconv.ParseUint(last[1], 10, 32)
	is.Timeline = uint32(timeline)
	return is, err
}
