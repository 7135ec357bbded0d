package dbtest

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
)

const (
	overrideVariable = "FLEETBOARD_TEST_DATABASE_URL"
	// setupTimeout bounds one step of the preparation, the first start included.
	setupTimeout = 2 * time.Minute
)

// server is the address of the shared server's maintenance database, as its
// superuser. It is started at most once in a process and never stopped here:
// other packages use it.
var server = sync.OnceValues(func() (string, error) {
	if address := os.Getenv(overrideVariable); address != "" {
		return address, nil
	}
	dir, err := dataDir()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	// Nobody needs a test's rows after a power cut, and a copy of a database is not logged.
	e, err := db.StartEmbedded(ctx, dir, slog.New(slog.DiscardHandler),
		"fsync=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0", "max_wal_size=256MB", "min_wal_size=64MB",
		"max_connections=300", "autovacuum_naptime=5min")
	if err != nil {
		return "", fmt.Errorf("starting the test server: %w", err)
	}
	if err := dropLeftovers(ctx, e.URL()); err != nil {
		return "", err
	}
	return e.URL(), nil
})

// memoryDir is a file system in memory, where there is one. A database is more than
// five hundred files, which a disk makes and deletes many times slower.
const memoryDir = "/dev/shm"

// memoryNeeded is what a run of all tests fits into, several times over.
const memoryNeeded = 2 << 30

// dataDir returns the data directory of the shared server: in memory where there is space,
// else in the user's cache. Once it is in memory it stays there until that is emptied.
func dataDir() (string, error) {
	inMemory := fmt.Sprintf("%s/fleetboard-test-%d", memoryDir, os.Getuid())
	if _, err := os.Stat(inMemory); err == nil || freeBytes(memoryDir) >= memoryNeeded {
		return inMemory, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a place for the test server: %w", err)
	}
	return filepath.Join(cache, "fleetboard-test"), nil
}

// freeBytes returns the space left in dir's file system, 0 where there is none.
func freeBytes(dir string) uint64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0
	}
	return s.Bavail * uint64(max(0, s.Bsize))
}

// at gives the server's address with another database. A machine that is busy with
// other tests may take long to connect.
func at(address, database string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("%s must be a postgres:// URL: %w", overrideVariable, err)
	}
	u.Path = "/" + database
	query := u.Query()
	query.Set("connect_timeout", "60")
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// maintain runs fn on a connection to the maintenance database.
func maintain(ctx context.Context, address string, fn func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("connecting to the test server: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	return fn(conn)
}
