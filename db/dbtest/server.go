package dbtest

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

	"fleetboard/db"
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
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	// Nobody needs a test's rows after a power cut.
	e, err := db.StartEmbedded(ctx, dir, slog.New(slog.DiscardHandler),
		"fsync=off", "full_page_writes=off", "max_connections=300", "autovacuum_naptime=5min")
	if err != nil {
		return "", fmt.Errorf("starting the test server: %w", err)
	}
	if err := dropLeftovers(ctx, e.URL()); err != nil {
		return "", err
	}
	return e.URL(), nil
})

// Dir is the data directory of the shared server.
func Dir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a place for the test server: %w", err)
	}
	return filepath.Join(cache, "fleetboard-test"), nil
}

// at gives the server's address with another database.
func at(address, database string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("%s must be a postgres:// URL: %w", overrideVariable, err)
	}
	u.Path = "/" + database
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
