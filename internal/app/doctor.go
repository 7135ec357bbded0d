package app

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/backup"
)

const (
	// lateBackup is how many times the time between two backups the newest may be old.
	lateBackup = 2
	// lateLog is how far the archived log may be behind.
	lateLog = time.Minute
	// wrongClock is how far this machine's clock may be from the database's.
	wrongClock = 2 * time.Second
)

// Symptom is what the doctor looked at.
type Symptom struct {
	Name string
	Text string
	// Bad says that something has to be done.
	Bad bool
}

// Examine looks at what a server needs to survive its machine: its database, its disk and its backups.
// An error means that it could not look at all of that.
func Examine(ctx context.Context, cfg Config, address string, log *slog.Logger) (list []Symptom, err error) {
	say := func(bad bool, name, text string, args ...any) {
		list = append(list, Symptom{name, fmt.Sprintf(text, args...), bad})
	}
	err = visit(ctx, cfg, log, func(at place) error {
		version, _, err := db.ServerVersion(ctx, at.url)
		if err != nil {
			return err
		}
		say(false, "database", "PostgreSQL %s answers", version)
		var schema *db.SchemaError
		switch err := db.CheckSchema(ctx, at.url); {
		case errors.As(err, &schema):
			say(true, "schema", "%v", err)
		case err != nil:
			return err
		default:
			newest, _ := db.SchemaVersion() // the same names were read to check
			say(false, "schema", "%d, which this program needs", newest)
		}
		if at.cluster != "" {
			if err := db.CheckSpace(at.cluster); err != nil {
				say(true, "disk", "%v", err)
			} else {
				say(false, "disk", "there is space for the database")
			}
		}
		off, err := db.ClockOffset(ctx, at.url)
		if err != nil {
			return err
		}
		say(off.Abs() > wrongClock, "clock", "%.1f s from the database's", off.Abs().Seconds())
		return nil
	})
	if err != nil {
		return list, err
	}
	return cfg.examineBackups(ctx, address, list)
}

// examineBackups looks at the backups of an address, and at the log.
func (c Config) examineBackups(ctx context.Context, address string, list []Symptom) ([]Symptom, error) {
	say := func(bad bool, name, text string, args ...any) {
		list = append(list, Symptom{name, fmt.Sprintf(text, args...), bad})
	}
	if address == "" && c.Backup.URL == "" {
		say(true, "backup", "none is configured: set FLEETBOARD_BACKUP_URL, or name where your backups are")
		return list, nil
	}
	where, err := c.backupAddress(address)
	if err != nil {
		return list, err
	}
	store, err := where.Open()
	if err != nil {
		return list, err
	}
	found, err := backup.List(ctx, store)
	if err != nil {
		return list, err
	}
	if len(found) == 0 {
		say(true, "backup", "there is none at %s", where.Text)
		return list, nil
	}
	newest := found[len(found)-1]
	age := time.Since(newest.Ended)
	say(age > lateBackup*c.Backup.every(), "backup", "the newest of %d ended %s ago, at %s (%d MB)", len(found), age.Round(time.Second),
		newest.Ended.Format(time.RFC3339), newest.Size()>>20)
	if newest.Copy != nil {
		reached, err := backup.Reach(ctx, store, newest.Manifest)
		if err != nil {
			return list, err
		}
		if reached.IsZero() {
			say(false, "log", "it is not archived there: only the moments at which backups ended can be restored")
		} else {
			oldest := slices.IndexFunc(found, func(f backup.Found) bool { return f.Copy != nil && f.Copy.Chain == newest.Copy.Chain })
			say(time.Since(reached) > lateLog && address == "", "log", "any second from %s to %s can be restored",
				found[oldest].Ended.Format(time.RFC3339), reached.UTC().Format(time.RFC3339))
		}
	}
	if status, err := backup.ReadStatus(c.DataDir); err == nil && address == "" && status.Problem != "" {
		say(true, "problem", "since %s: %s", status.Since.Format(time.RFC3339), status.Problem)
	}
	if newest.Key == nil {
		say(false, "secret key", "it is not in the backup: keep a copy of it apart")
	} else {
		say(false, "secret key", "it is in the backup, under your passphrase")
	}
	if newest.Bucket == "" {
		say(false, "blobs", "they are in the backup")
	} else {
		say(false, "blobs", "those of the bucket %s are not in the backup: back it up too, after the database", newest.Bucket)
	}
	return list, nil
}

// TryRestore restores the newest backup into a new directory below dir, proves what it is worth, and removes it.
func TryRestore(ctx context.Context, cfg Config, address, dir string, log *slog.Logger, progress backup.Progress) (p Proof, err error) {
	keys, err := readKeys(cfg)
	if err != nil {
		return p, err
	}
	newest, err := newestBackup(ctx, cfg, address)
	if err != nil {
		return p, err
	}
	trial := cfg
	if trial.DataDir, err = os.MkdirTemp(dir, "fleetboard-trial-*"); err != nil {
		return p, err
	}
	defer func() {
		last := context.WithoutCancel(ctx)
		err = errors.Join(err, db.RemoveEmbedded(last, trial.DataDir, log), os.RemoveAll(trial.DataDir))
	}()
	// The server's user has to pass through it.
	if err := os.Chmod(trial.DataDir, 0o711); err != nil {
		return p, err
	}
	trial.DatabaseURL, trial.AppDatabaseURL, trial.Keys.LogMarksURL = "", "", "" // the marks are those of the running server
	if len(keys) > 0 {
		trial.SecretKeyText, trial.SecretKeyPath = base64.StdEncoding.EncodeToString(keys[0]), ""
	}
	if newest.Kind == backup.Dump {
		server, err := db.StartEmbedded(ctx, trial.DataDir, log)
		if err != nil {
			return p, err
		}
		if trial.DatabaseURL, err = server.AddDatabase(ctx, newest.Owner); err != nil {
			return p, errors.Join(err, server.Stop(ctx))
		}
		defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	}
	return Restore(ctx, trial, RestoreInput{Address: address}, log, progress)
}

// newestBackup returns the newest backup at an address.
func newestBackup(ctx context.Context, cfg Config, address string) (f backup.Found, err error) {
	where, err := cfg.backupAddress(address)
	if err != nil {
		return f, err
	}
	store, err := where.Open()
	if err != nil {
		return f, err
	}
	list, err := backup.List(ctx, store)
	if err == nil && len(list) == 0 {
		err = errors.New("there is none")
	}
	if err != nil {
		return f, err
	}
	return list[len(list)-1], nil
}
