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

// inspectConns is the pool of an inspection, which reads one page after another.
const inspectConns = 2

// Inspect lets what read the database that the configuration names, beside the
// servers that use it or while none does. It makes no database and changes no
// schema. The error is what's own, or says why there was nothing to read.
func Inspect(ctx context.Context, cfg Config, log *slog.Logger, what func(*db.DB) error) (err error) {
	url := cfg.DatabaseURL
	if url == "" {
		if err := hasDatabase(cfg.DataDir); err != nil {
			return err
		}
		embedded, err := db.StartEmbedded(ctx, cfg.DataDir, log)
		if err != nil {
			return err
		}
		defer func() {
			// Its own time: ctx may have ended.
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
			defer cancel()
			err = errors.Join(err, embedded.Stop(stopping))
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
	return what(d)
}

// hasDatabase refuses a data directory without a database: a new one would have
// nothing to show.
func hasDatabase(dataDir string) error {
	for _, name := range []string{"postgres", "postgres.location"} {
		if _, err := os.Stat(filepath.Join(dataDir, name)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("there is no database in %s; set FLEETBOARD_DATA_DIR or DATABASE_URL to the server's", dataDir)
}
