package app

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/backup"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// RestoreInput is what is to be restored.
type RestoreInput struct {
	// Address is where the backup is; "" is the configured address.
	Address string
	// At is the second as of which the database is restored; zero is as late as possible.
	At time.Time
	// WithoutKey restores although the server's secret key is lost.
	WithoutKey bool
}

// Proof says what a restored database is worth.
type Proof struct {
	backup.Manifest
	Took time.Duration
	// Migrated says from which schema the database was brought up to date; 0 where it was.
	Migrated int64
	// Missing says in a line for each log which events that the backups know of are not there.
	Missing []string
	// Differ says which logs do not have the seals that the backup names.
	Differ []string
	// Audit and Verify are what the two checks found. Unsealed says why seals were not checked.
	Audit, Verify audit.Report
	Unsealed      error
}

// Good reports whether everything that was looked at is in order.
func (p Proof) Good() bool {
	return len(p.Differ) == 0 && p.Audit.Found() == 0 && p.Verify.Found() == 0 && p.Unsealed == nil
}

// Cut reports whether a log is not the one that was sealed, as far as that was looked at.
func (p Proof) Cut() bool {
	return len(p.Differ) > 0 || p.Unsealed != nil ||
		slices.ContainsFunc(p.Audit.Checks, func(c audit.Check) bool { return c.Name == audit.SealsCheck && c.Found > 0 })
}

// Restore restores a backup into the empty data directory or database of the configuration, and proves
// what it is worth. A *backup.RefusedError says why it was not begun. Where an error came later, the place is
// marked: it is not served, and the restore can be run again.
func Restore(ctx context.Context, cfg Config, in RestoreInput, log *slog.Logger, progress backup.Progress) (p Proof, err error) {
	began := time.Now()
	done, err := restoreTo(ctx, cfg, in, log, progress)
	if err != nil {
		return p, err
	}
	p, err = prove(ctx, cfg, done, progress)
	if err != nil {
		return p, errors.Join(err, done.Stop(context.WithoutCancel(ctx)))
	}
	p.Took = time.Since(began)
	return p, done.Finish(ctx)
}

func restoreTo(ctx context.Context, cfg Config, in RestoreInput, log *slog.Logger, progress backup.Progress) (
	*backup.Restored, error) {
	r := backup.Request{At: in.At, DataDir: cfg.DataDir, DatabaseURL: cfg.DatabaseURL, WithoutKey: in.WithoutKey,
		Progress: progress, Log: log}
	address, err := cfg.backupAddress(in.Address)
	if err == nil {
		r.From, err = address.Open()
	}
	if err == nil {
		r.Schema, err = db.SchemaVersion()
	}
	if err == nil {
		r.Secrets, err = readKeys(cfg)
	}
	if err == nil {
		r.Passphrase, err = cfg.Backup.passphrase()
	}
	if err != nil {
		return nil, backup.NotBegun(err)
	}
	return backup.Restore(ctx, r)
}

// readKeys returns the secret keys of a configuration, none where it has none; it makes none.
func readKeys(cfg Config) ([][]byte, error) {
	if cfg.SecretKeyText == "" && cfg.SecretKeyPath == "" {
		if _, err := readSecretKey(cfg.generatedKeyPath()); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	key, earlier, err := cfg.keys()
	if err != nil {
		return nil, err
	}
	return append([][]byte{key}, earlier...), nil
}

// prove brings the restored database up to date, audits it, and compares it with what the backups know.
func prove(ctx context.Context, cfg Config, done *backup.Restored, progress backup.Progress) (p Proof, err error) {
	p.Manifest = done.Manifest
	if err := putKey(cfg, done.Secret); err != nil {
		return p, err
	}
	newest, err := db.SchemaVersion()
	if err != nil {
		return p, err
	}
	if done.Schema < newest {
		progress("migrate", 0, 0)
		p.Migrated = done.Schema
		if err := db.Migrate(ctx, done.URL); err != nil {
			return p, err
		}
	}
	d, err := db.Open(ctx, db.Options{OwnerURL: done.URL, MaxConns: inspectConns})
	if err != nil {
		return p, fmt.Errorf("open database: %w", err)
	}
	defer d.Close()
	progress("audit", 0, 0)
	cuts, err := seal.Compare(ctx, d, done.Logs)
	if err != nil {
		return p, err
	}
	for _, c := range cuts {
		p.Differ = append(p.Differ, fmt.Sprintf("the log of %s: %s", slug(done.Logs, c.Workspace), c.Detail))
	}
	ends, err := seal.Ends(ctx, d)
	if err != nil {
		return p, err
	}
	p.Missing = missing(done.Known, ends)
	if done.Kind == backup.Dump && done.Secret != nil {
		// A dump's log has other transactions, which seals name.
		if _, err := seal.New(d, seal.NewKeys(done.Secret)).Reopen(ctx); err != nil {
			return p, err
		}
	}
	return p, p.inspect(ctx, cfg, d, progress)
}

// inspect runs audit and verify-log.
func (p *Proof) inspect(ctx context.Context, cfg Config, d *db.DB, progress backup.Progress) (err error) {
	seals, err := SealVerifier(ctx, cfg, d)
	if err == nil {
		p.Audit, err = audit.RunWithSeals(ctx, d, seals)
	}
	if err != nil {
		if p.Unsealed = err; ctx.Err() != nil {
			return ctx.Err()
		}
		if p.Audit, err = audit.Run(ctx, d); err != nil {
			return err
		}
	}
	progress("verify-log", 0, 0)
	p.Verify, err = audit.Verify(ctx, d)
	return err
}

// putKey writes the secret key of a backup into the data directory, where the configuration names none.
func putKey(cfg Config, secret []byte) error {
	if secret == nil || cfg.SecretKeyText != "" || cfg.SecretKeyPath != "" {
		return nil
	}
	if has, err := readSecretKey(cfg.generatedKeyPath()); err == nil && bytes.Equal(has, secret) {
		return nil
	}
	text := base64.StdEncoding.EncodeToString(secret) + "\n"
	if err := os.WriteFile(cfg.generatedKeyPath(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the secret key: %w", err)
	}
	return nil
}

// missing says what logs lack of what is known of them.
func missing(known, ends []seal.End) (list []string) {
	for _, k := range known {
		at := int64(0)
		if i := slices.IndexFunc(ends, func(e seal.End) bool { return e.Workspace == k.Workspace }); i >= 0 {
			at = ends[i].Position
		}
		if k.Position <= at {
			continue
		}
		line := fmt.Sprintf("%s: events after %d, up to %d", k.Slug, at, k.Position)
		var jobs []string
		for _, n := range k.Newest {
			if n.Position > at && n.Job != "" && !slices.Contains(jobs, n.Job) {
				jobs = append(jobs, n.Job)
			}
		}
		if len(jobs) > 0 {
			slices.Reverse(jobs)
			line += ", of " + strings.Join(jobs, ", ")
			if oldest := k.Newest[len(k.Newest)-1].Position; oldest > at+1 {
				line += " and perhaps others"
			}
		}
		list = append(list, line)
	}
	return list
}

// slug returns the address of a workspace, its id where it is not known.
func slug(ends []seal.End, workspace ids.ID) string {
	for _, e := range ends {
		if e.Workspace == workspace {
			return e.Slug
		}
	}
	return workspace.String()
}
