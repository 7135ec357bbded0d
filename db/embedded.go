package db

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	embeddedName = "fleetboard" // of the database and of its superuser
	embeddedPort = "5432"       // only a part of the socket's name: nothing listens on a network

	// startTimeout is long because a server that was killed first replays its log.
	startTimeout = 3 * time.Minute
	pollEvery    = 50 * time.Millisecond
	// quitTimeout bounds the order to end at once, given when there was no time for a proper end.
	quitTimeout = 5 * time.Second
)

// embeddedSettings keep every promise of durability, also where somebody edits
// the cluster's own configuration.
var embeddedSettings = []string{
	"listen_addresses=", "port=" + embeddedPort, "unix_socket_permissions=0700",
	"fsync=on", "full_page_writes=on", "synchronous_commit=on",
	// What follows the log for backups and falls behind must not fill the disk: it begins anew then.
	"max_slot_wal_keep_size=2GB",
	"jit=off", "random_page_cost=1.1", "autovacuum_naptime=10s", "logging_collector=off", "log_destination=stderr",
}

// Embedded is a PostgreSQL server of our own in a data directory. It listens on
// a unix socket only. It is a process of its own, in its own process group: it
// outlives a fleetboard that is killed, and the next one takes it over.
//
// Processes with the same data directory share the server, also from several
// containers with one volume; the last one that calls Stop ends it. A container
// that ends takes the server it started along: Supervise of the others starts
// another one.
type Embedded struct {
	log     *slog.Logger
	cluster cluster
	bin     binaries
	pid     int // as the server's own namespace numbers it
	child   int // the same while the server is a child of this process, else 0
	socket  string
	lock    *os.File // held exclusively while a server is started or stopped
	users   *os.File // held shared by everybody who uses the server
	// bring finds or starts the server; the caller holds lock.
	bring func(ctx context.Context) error

	stopOnce sync.Once
	stopErr  error
}

// StartEmbedded gives a running server for dataDir: the one that runs there
// already, or a new one, on a new cluster where there is none. The server's
// output goes to postgres.log in dataDir. Settings ("name=value") are added to
// the server's command line where this call starts it.
//
// As root the server runs as the user postgres, or nobody. Where that user
// cannot reach dataDir, the cluster lies under /var/lib/fleetboard and the file
// postgres.location in dataDir says where.
func StartEmbedded(ctx context.Context, dataDir string, log *slog.Logger, settings ...string) (*Embedded, error) {
	return startEmbedded(ctx, dataDir, log, host{searchDirs: defaultSearchDirs(), fallbackRoot: fallbackRoot, fetch: fetchBinaries},
		settings)
}

// host is what the machine offers; tests offer less.
type host struct {
	searchDirs   []string
	fallbackRoot string
	fetch        func(ctx context.Context, dir string, major int) error
}

func startEmbedded(ctx context.Context, dataDir string, log *slog.Logger, h host, settings []string) (_ *Embedded, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	dataDir, err = filepath.Abs(dataDir)
	if err != nil {
		return nil, fmt.Errorf("the data directory %s: %w", dataDir, err)
	}
	user, err := serverAccount()
	if err != nil {
		return nil, err
	}
	if err := makeDirs(dataDir, user); err != nil {
		return nil, err
	}
	e := &Embedded{log: log}
	e.bring = func(ctx context.Context) error { return e.run(ctx, dataDir, user, h, settings) }
	if e.lock, err = lockFile(ctx, filepath.Join(dataDir, "postgres.lock")); err != nil {
		return nil, err
	}
	defer unlockFile(e.lock)
	if e.users, err = joinUsers(filepath.Join(dataDir, "postgres.users")); err != nil {
		leave(e.lock)
		return nil, err
	}
	if err := e.bring(ctx); err != nil {
		leave(e.users)
		leave(e.lock)
		return nil, err
	}
	return e, nil
}

// run finds or starts the server.
func (e *Embedded) run(ctx context.Context, dataDir string, user *account, h host, settings []string) error {
	var err error
	if e.cluster, err = findCluster(dataDir, user, h.fallbackRoot); err != nil {
		return err
	}
	lock, err := e.adopt(ctx)
	if err != nil {
		return err
	}
	if lock != nil {
		defer func() { _ = lock.Close() }()
		if e.bin, err = findBinaries(ctx, h, e.cluster, user, e.log); err != nil {
			return err
		}
		if err := e.cluster.create(ctx, e.bin, lock); err != nil {
			return err
		}
		if err := e.start(ctx, lock, settings); err != nil {
			return err
		}
	}
	return e.ensureDatabase(ctx)
}

// URL returns the address of the database for its owner, who is a superuser. Only
// the operating system's user of the server, and root, can reach the socket.
func (e *Embedded) URL() string { return e.url(embeddedName) }

// Dir is where the cluster is.
func (e *Embedded) Dir() string { return e.cluster.dir }

func (e *Embedded) url(database string) string {
	query := url.Values{"host": {e.socket}, "port": {embeddedPort}, "sslmode": {"disable"}}
	u := url.URL{Scheme: "postgres", User: url.User(embeddedName), Path: "/" + database, RawQuery: query.Encode()}
	return u.String()
}

func (e *Embedded) ensureDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, e.url("postgres"))
	if err != nil {
		return fmt.Errorf("connecting to the embedded PostgreSQL: %w", err)
	}
	defer closeQuietly(ctx, conn)
	var there bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", embeddedName).Scan(&there)
	if err == nil && !there {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+embeddedName)
	}
	if err != nil {
		return fmt.Errorf("making the database: %w", err)
	}
	return nil
}

// Stop gives the server up. Where no other process uses it, it is shut down:
// transactions under way are rolled back and all that was committed is kept.
// Where that takes longer than ctx lasts, the server is stopped at once, which
// is as safe and makes its next start slower. Later calls do nothing.
func (e *Embedded) Stop(ctx context.Context) error {
	e.stopOnce.Do(func() { e.stopErr = e.stop(ctx) })
	return e.stopErr
}

func (e *Embedded) stop(ctx context.Context) error {
	defer func() {
		leave(e.users)
		leave(e.lock)
	}()
	if err := takeLock(ctx, e.lock); err != nil {
		return fmt.Errorf("waiting to stop the embedded PostgreSQL: %w", err)
	}
	if !lastUser(e.users) {
		return nil
	}
	if err := e.shutDown(ctx); err != nil {
		return fmt.Errorf("stopping the embedded PostgreSQL: %w", err)
	}
	return nil
}
