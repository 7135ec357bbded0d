package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/fleetboard/fleetboard/db"
)

// inspectConns is the size of the connection pool of an inspection, which reads one page after
// another.
const inspectConns = 2

// Inspect calls read with the database that the configuration names, whether servers use
// it or not. It makes no database and changes no schema. The error is that of read, or
// says why there was nothing to read.
func Inspect(ctx context.Context, cfg Config, log *slog.Logger, read func(*db.DB) error) (err error) {
	url := cfg.DatabaseURL
	if url == "" {
		if err := requireDatabase(cfg.DataDir); err != nil {
			return err
		}
		embedded, err := db.StartEmbedded(ctx, cfg.DataDir, log)
		if err != nil {
			return err
		}
		defer func() {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout) // ctx may have ended
			defer cancel()
			err = errors.Join(err, embedded.Stop(limited))
		}()
		url = embedded.URL()
	}
	if err := db.CheckSchema(ctx, url); err != nil {
		return err
	}
	d, err := db.Open(ctx, db.Options{OwnerURL: url, AppURL: cfg.AppDatabaseURL, MaxConns: inspectConns})
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer d.Close()
	return read(d)
}

// requireDatabase refuses a data directory without a database: a new one would be empty.
func requireDatabase(dataDir string) error {
	for _, name := range []string{"postgres", "postgres.location"} {
		if _, err := os.Stat(filepath.Join(dataDir, name)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("there is no database in %s; set FLEETBOARD_DATA_DIR or DATABASE_URL to the server's", dataDir)
}
