package app

import (
	"context"
	"log/slog"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/backup"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

// Backup writes a backup to an address, the configured one where that is "", while servers run or not.
// A *backup.RefusedError says why it was not begun.
func Backup(ctx context.Context, cfg Config, address string, log *slog.Logger, progress backup.Progress) (m backup.Manifest, err error) {
	begun := false
	err = visit(ctx, cfg, log, func(at place) error {
		if err := db.CheckSchema(ctx, at.url); err != nil {
			return err
		}
		d, err := db.Open(ctx, db.Options{OwnerURL: at.url, AppURL: cfg.AppDatabaseURL, MaxConns: inspectConns})
		if err != nil {
			return err
		}
		defer d.Close()
		server, err := cfg.backupServer(at, d)
		if err != nil {
			return err
		}
		where, err := cfg.backupAddress(address, cfg.DataDir, at.cluster)
		if err != nil {
			return err
		}
		to, err := where.Create()
		if err != nil {
			return err
		}
		begun = true
		m, err = backup.Take(ctx, server, to, progress)
		return err
	})
	if !begun {
		err = backup.NotBegun(err)
	}
	return m, err
}

// backupServer returns what is backed up.
func (c Config) backupServer(at place, d *db.DB) (s backup.Server, err error) {
	s = backup.Server{URL: at.url, DB: d, Embedded: at.cluster != "", Product: build().Server, Bucket: cutParameters(c.Blobs.URL)}
	if s.Owner, err = db.Login(at.url); err != nil {
		return s, err
	}
	if !s.Embedded && c.Backup.DatabaseURL != "" {
		s.URL = c.Backup.DatabaseURL
	}
	if s.Schema, err = db.SchemaVersion(); err != nil {
		return s, err
	}
	if s.Secret, err = c.SecretKey(); err != nil {
		return s, err
	}
	s.Passphrase, err = c.Backup.passphrase()
	return s, err
}

// cutParameters returns the address of a bucket without its parameters.
func cutParameters(address string) string {
	bucket, _, _ := strings.Cut(address, "?")
	return bucket
}

// makesBackups reports whether the server backs its database up by itself.
func (a *App) makesBackups(cfg Config) bool { return a.embedded != nil && cfg.Backup.URL != "" }

// backupStatus returns what says how the backups stand, nil where the server makes none.
func (a *App) backupStatus(cfg Config) func() (backup.Status, error) {
	if !a.makesBackups(cfg) {
		return nil
	}
	return func() (backup.Status, error) { return backup.ReadStatus(cfg.DataDir) }
}

// keepBackups returns the task that backs an embedded database up; none where no address is configured.
func (a *App) keepBackups(cfg Config) []runloop.Task {
	if !a.makesBackups(cfg) {
		if cfg.Backup.URL != "" {
			a.log.Warn("the server makes no backups of another database server: run fleetboard backup by a timer")
		}
		return nil
	}
	return []runloop.Task{{Name: "backups", Run: func(ctx context.Context) error {
		server, err := cfg.backupServer(place{url: a.embedded.URL(), cluster: a.clusterDir}, a.db)
		if err != nil {
			return err
		}
		address, err := cfg.backupAddress("", cfg.DataDir, a.clusterDir)
		if err != nil {
			return err
		}
		plan := backup.Plan{Address: address, Every: cfg.Backup.every(), Keep: cfg.Backup.Keep, DataDir: cfg.DataDir}
		return backup.NewKeeper(plan, server, a.log).Run(ctx)
	}}}
}
