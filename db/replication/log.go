package replication

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// epoch is where PostgreSQL's times begin.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Piece is what came of the write-ahead log.
type Piece struct {
	At   LSN
	Data []byte // valid until the next call
	// End is how far the server's log reaches, and Sent when it said so by its own clock. A piece
	// without Data says only that.
	End  LSN
	Sent time.Time
}

// Log is the write-ahead log of a running server, as it grows.
type Log struct {
	conn *Conn
	kept LSN
}

// Follow begins to read the log from a place on, through a slot.
func (c *Conn) Follow(ctx context.Context, slot string, from LSN, timeline uint32) (*Log, error) {
	if err := c.send(fmt.Sprintf("START_REPLICATION SLOT %s PHYSICAL %s TIMELINE %d", slot, from, timeline)); err != nil {
		return nil, err
	}
	for {
		message, err := c.receive(ctx)
		if err != nil {
			return nil, fmt.Errorf("follow the write-ahead log: %w", err)
		}
		if _, begun := message.(*pgproto3.CopyBothResponse); begun {
			return &Log{conn: c, kept: from}, nil
		}
	}
}

// Next returns the next piece; found is false where none came in time.
func (l *Log) Next(ctx context.Context, patience time.Duration) (p Piece, found bool, err error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		message, err := l.conn.receive(limited)
		if err != nil {
			if pgconn.Timeout(err) && ctx.Err() == nil {
				return Piece{}, false, nil
			}
			return Piece{}, false, err
		}
		switch m := message.(type) {
		case *pgproto3.CopyData:
			p, asked, err := read(m.Data)
			if err == nil && asked {
				err = l.Keep(l.kept)
			}
			return p, true, err
		case *pgproto3.CopyDone:
			return Piece{}, false, errors.New("the server ended the write-ahead log: its timeline has ended")
		}
	}
}

// read takes a message apart: 'w' is a piece of the log, 'k' a sign of life.
func read(data []byte) (p Piece, asked bool, err error) {
	number := func(at int) uint64 { return binary.BigEndian.Uint64(data[at:]) }
	at := func(micros uint64) time.Time {
		return epoch.Add(time.Duration(micros) * time.Microsecond) //nolint:gosec // since 2000
	}
	switch {
	case len(data) > 25 && data[0] == 'w':
		return Piece{At: LSN(number(1)), End: LSN(number(9)), Sent: at(number(17)), Data: data[25:]}, false, nil
	case len(data) == 18 && data[0] == 'k':
		return Piece{End: LSN(number(1)), Sent: at(number(9))}, data[17] == 1, nil
	}
	return p, false, errors.New("the server sent a message of another form")
}

// Keep tells the server that the log is kept elsewhere up to a place; it may forget what is before.
func (l *Log) Keep(to LSN) error {
	l.kept = to
	status := make([]byte, 1, 34)
	status[0] = 'r'
	for range 3 { // written, flushed, applied
		status = binary.BigEndian.AppendUint64(status, uint64(to))
	}
	status = binary.BigEndian.AppendUint64(status, uint64(time.Since(epoch).Microseconds())) //nolint:gosec // since 2000
	f := l.conn.pg.Frontend()
	f.Send(&pgproto3.CopyData{Data: append(status, 1)}) // 1: answer with a sign of life
	return f.Flush()
}
