package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"

	"github.com/fleetboard/fleetboard/internal/metrics"
)

// The roles that the first migration makes.
const (
	roleApp    = "fleetboard_app"
	roleSystem = "fleetboard_system"
)

const (
	applicationName = "fleetboard"
	defaultMaxConns = 16
	// pingTimeout is how long an idle connection may take to prove itself.
	pingTimeout = time.Second
	// defaultAcquireTimeout is short: a full pool answers "not available" instead of
	// piling up requests.
	defaultAcquireTimeout = 5 * time.Second
)

// Options says how to reach the database.
type Options struct {
	// OwnerURL is the login that owns the tables. Migrations and LISTEN use it
	// directly; it must not lead through a pooler.
	OwnerURL string
	// AppURL is the login of the application's queries. Where it is empty they
	// log in with OwnerURL and give up its rights before the first query.
	// The login must be a member of fleetboard_app and fleetboard_system. It may lead
	// through a pooler that keeps no sessions, such as PgBouncer in transaction mode.
	AppURL string
	// MaxConns is the size of the pool; 0 means 16.
	MaxConns int32
	// AcquireTimeout is how long a transaction waits for a free connection at most;
	// 0 means five seconds.
	AcquireTimeout time.Duration
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	pool *pgxpool.Pool
	// direct is the configuration of connections outside the pool.
	direct *pgx.ConnConfig
	// acquireTimeout bounds the wait for a free connection.
	acquireTimeout time.Duration
	// resetAt is when the connections were last given up because a server takes no changes, in
	// seconds.
	resetAt atomic.Int64
}

// Open connects to a migrated database and checks that it answers. The error
// names what is wrong with the address; it never holds a password.
func Open(ctx context.Context, o Options) (*DB, error) {
	direct, err := pgx.ParseConfig(o.OwnerURL)
	if err != nil {
		return nil, fmt.Errorf("the database address cannot be read: %w", err)
	}
	prepare(direct)

	address := o.AppURL
	if address == "" {
		address = o.OwnerURL
	}
	cfg, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("the application's database address cannot be read: %w", err)
	}
	prepare(cfg.ConnConfig)
	if o.AppURL != "" {
		if err := adaptToPooler(ctx, cfg.ConnConfig); err != nil {
			return nil, fmt.Errorf("the application's database does not answer: %w", err)
		}
	}
	cfg.MaxConns = defaultMaxConns
	if o.MaxConns > 0 {
		cfg.MaxConns = o.MaxConns
	}
	cfg.PingTimeout = pingTimeout
	// Connections do not live for ever: cached plans and catalogues grow with them.
	cfg.MaxConnLifetime = time.Hour
	cfg.MaxConnLifetimeJitter = 10 * time.Minute
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		// Ids go as the 16 bytes that they are, not by way of their text.
		pgxuuid.Register(conn.TypeMap())
		// Times are UTC wherever the process runs.
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID,
			Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
		if o.AppURL == "" {
			return becomeApp(ctx, conn)
		}
		return nil
	}

	cfg.BeforeConnect = guardCommits
	d := &DB{direct: direct, acquireTimeout: cmp.Or(o.AcquireTimeout, defaultAcquireTimeout)}
	cfg.ConnConfig.OnPgError = d.leaveReadOnly(cfg.ConnConfig.OnPgError)
	if d.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, fmt.Errorf("the pool cannot be made: %w", err)
	}
	if err := d.checkRoles(ctx, cfg.ConnConfig.User); err != nil {
		d.pool.Close()
		return nil, err
	}
	return d, nil
}

// becomeApp gives up the owner's rights for the rest of the connection.
func becomeApp(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "SET ROLE "+roleApp); err != nil {
		return fmt.Errorf("taking the role %s (was the database migrated?): %w", roleApp, err)
	}
	return nil
}

// leaveReadOnly returns a handler of PostgreSQL's errors that gives up all connections when a
// server takes no changes: it leads no longer, and what it shows grows old. Once a second at most,
// since a database may also be kept from changes on purpose. Other errors are left to next.
func (d *DB) leaveReadOnly(next pgconn.PgErrorHandler) pgconn.PgErrorHandler {
	return func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code != stateReadOnly {
			return next(conn, err)
		}
		if now := time.Now().Unix(); d.resetAt.Swap(now) != now {
			d.pool.Reset()
		}
		return false
	}
}

// Ping reports whether a transaction can be had right now.
func (d *DB) Ping(ctx context.Context) error {
	return d.In(ctx, None, func(tx Tx) error {
		_, err := tx.Exec(ctx, "SELECT")
		return err
	}, OneRead)
}

// Close ends all connections; it waits for transactions that are under way.
func (d *DB) Close() { d.pool.Close() }

// acquire takes a connection from the pool, for at most acquireTimeout.
func (d *DB) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, d.acquireTimeout)
	defer cancel()
	conn, err := d.pool.Acquire(limited)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		metrics.DatabaseErrors.Of("pool").Inc()
		return nil, unavailable(err)
	}
	return conn, err
}
