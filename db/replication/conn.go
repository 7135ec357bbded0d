package replication

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

const (
	connectTimeout = 5 * time.Second
	closeTimeout   = 2 * time.Second
)

// System is a server as it names itself.
type System struct {
	// ID is made with the cluster, and the same in all its copies.
	ID       string
	Timeline uint32
	// Position is how far the write-ahead log is flushed.
	Position LSN
	// SegmentSize is the size of the log's files, in bytes.
	SegmentSize int64
}

// Conn is a connection for replication. It does one thing at a time.
type Conn struct{ pg *pgconn.PgConn }

// Connect connects to the server of a postgres:// URL; its database plays no part.
func Connect(ctx context.Context, url string) (*Conn, error) {
	cfg, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the database address cannot be read: %w", err)
	}
	cfg.RuntimeParams["replication"] = "true"
	cfg.RuntimeParams["application_name"] = "fleetboard backup"
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	other := func(f *pgconn.FallbackConfig) bool { return f.Host != cfg.Host || f.Port != cfg.Port }
	if cfg.ValidateConnect != nil || slices.ContainsFunc(cfg.Fallbacks, other) {
		cfg.ValidateConnect = checkLeads
	}
	pg, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect for replication: %w", err)
	}
	return &Conn{pg}, nil
}

// checkLeads passes over a standby among several hosts. Where pgx asks by itself it uses SQL, which a
// connection for replication does not take.
func checkLeads(ctx context.Context, pg *pgconn.PgConn) error {
	results, err := pg.Exec(ctx, "SHOW transaction_read_only").ReadAll()
	if err == nil && len(results) == 1 && len(results[0].Rows) == 1 && string(results[0].Rows[0][0]) == "on" {
		err = pgconn.ErrReadOnlyConnection
	}
	return err
}

// Close ends the connection, and with it the temporary slots that it made.
func (c *Conn) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = c.pg.Close(ctx) // there is nothing that it could lose
}

// Identify returns which server it is.
func (c *Conn) Identify(ctx context.Context) (s System, err error) {
	row, err := c.row(ctx, "IDENTIFY_SYSTEM", 3)
	if err != nil {
		return s, err
	}
	timeline, err := strconv.ParseUint(row[1], 10, 32)
	if err != nil {
		return s, fmt.Errorf("the timeline %q: %w", row[1], err)
	}
	s.ID, s.Timeline = row[0], uint32(timeline)
	if s.Position, err = ParseLSN(row[2]); err != nil {
		return s, err
	}
	size, err := c.row(ctx, "SHOW wal_segment_size", 1)
	if err != nil {
		return s, err
	}
	s.SegmentSize, err = parseSize(size[0])
	return s, err
}

// parseSize reads a size as PostgreSQL shows it: 16MB, 1GB.
func parseSize(text string) (int64, error) {
	for unit, shift := range map[string]int{"MB": 20, "GB": 30} {
		if number, found := strings.CutSuffix(text, unit); found {
			n, err := strconv.ParseInt(number, 10, 32)
			return n << shift, err
		}
	}
	return 0, fmt.Errorf("%q is not the size of a segment", text)
}

// HoldLog makes a slot that ends with the connection: the server keeps its write-ahead log from now on.
func (c *Conn) HoldLog(ctx context.Context, name string) error {
	_, err := c.row(ctx, "CREATE_REPLICATION_SLOT "+name+" TEMPORARY PHYSICAL RESERVE_WAL", 0)
	return err
}

// row runs a command that gives one row, of at least so many values.
func (c *Conn) row(ctx context.Context, command string, values int) ([]string, error) {
	results, err := c.pg.Exec(ctx, command).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) < values {
		return nil, fmt.Errorf("%s: the server's answer has another form", command)
	}
	row := make([]string, len(results[0].Rows[0]))
	for i, value := range results[0].Rows[0] {
		row[i] = string(value)
	}
	return row, nil
}

// send starts a command whose answer is read message by message.
func (c *Conn) send(command string) error {
	f := c.pg.Frontend()
	f.SendQuery(&pgproto3.Query{String: command})
	return f.Flush()
}

// receive returns the next message. An error of the server is one here.
func (c *Conn) receive(ctx context.Context) (pgproto3.BackendMessage, error) {
	message, err := c.pg.ReceiveMessage(ctx)
	if err != nil {
		return nil, err
	}
	if refused, ok := message.(*pgproto3.ErrorResponse); ok {
		return nil, pgconn.ErrorResponseToPgError(refused)
	}
	return message, nil
}

// MayNot reports whether the server refused a login the right to replicate.
func MayNot(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	// insufficient_privilege, and invalid_authorization: no line of pg_hba.conf lets it in.
	return pg.Code == "42501" || pg.Code == "28000"
}
