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
	"github.com/fleetboard/fleetboard/internal/backup"
)

// inspectConns is the size of the connection pool of an inspection, which reads one page after
// another.
const inspectConns = 2

// Inspect calls read with the database that the configuration names, whether servers use
// it or not. It makes no database and changes no schema. The error is that of read, or
// says why there was nothing to read.
func Inspect(ctx context.Context, cfg Config, log *slog.Logger, read func(*db.DB) error) error {
	return visit(ctx, cfg, log, func(at place) error {
		if err := db.CheckSchema(ctx, at.url); err != nil {
			return err
		}
		d, err := db.Open(ctx, db.Options{OwnerURL: at.url, AppURL: cfg.AppDatabaseURL, MaxConns: inspectConns})
		if err != nil {
			return fmt.Errorf("open database: %w", err)
		}
		defer d.Close()
		return read(d)
	})
}

// place is where the database is.
type place struct {
	url string // the owner's login
	// cluster is the directory of an embedded one, "" else.
	cluster string
}

// visit calls do with the place of the database, whose embedded server runs meanwhile.
func visit(ctx context.Context, cfg Config, log *slog.Logger, do func(place) error) (err error) {
	if cfg.DatabaseURL != "" {
		if err := db.CheckFinished(ctx, cfg.DatabaseURL); err != nil {
			return err
		}
		return do(place{url: cfg.DatabaseURL})
	}
	if err := backup.CheckFinished(cfg.DataDir); err != nil {
		return err
	}
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
	return do(place{url: embedded.URL(), cluster: embedded.Dir()})
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
