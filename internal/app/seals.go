package app

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

// marksEvery is how often the marks of the logs move on.
const marksEvery = 15 * time.Second

// ownSecretKey returns the file of the key that the server made itself.
func (c Config) ownSecretKey() string { return filepath.Join(c.DataDir, secretKeyFile) }

// sealKeys returns the keys of the server's secret key and of the one before it.
func sealKeys(cfg Config) (*seal.Keys, error) {
	key, earlier, err := cfg.keys()
	if err != nil {
		return nil, err
	}
	return seal.NewKeys(key, earlier...), nil
}

// markStore is where the marks of the logs are kept.
func (c Config) markStore() seal.Store {
	if c.Keys.LogMarksURL != "" {
		return seal.Address{URL: c.Keys.LogMarksURL}
	}
	return seal.File{Dir: c.DataDir}
}

// keepMarks moves the marks of the logs on, and says of a log that was cut once
// what is wrong with it.
func (a *App) keepMarks(cfg Config) runloop.Task {
	told, store := map[ids.ID]string{}, cfg.markStore()
	look := func(ctx context.Context) error {
		cuts, err := seal.Keep(ctx, a.db, a.services.Seals, store)
		for _, c := range cuts {
			if told[c.Workspace] != c.Detail {
				a.log.ErrorContext(ctx, "the log of events is not the one that this server sealed; run fleetboard audit",
					"workspace", c.Workspace, "detail", c.Detail)
				told[c.Workspace] = c.Detail
			}
		}
		return err
	}
	return runloop.Task{Name: "log marks", Run: func(ctx context.Context) error {
		return runloop.Run(ctx, a.log, runloop.Loop{Name: "log marks", Every: marksEvery, Jitter: time.Second, Do: look})
	}}
}

// existingKeys returns the keys where the server's secret key is given or was made
// before, and nil where there is none.
func existingKeys(cfg Config) (*seal.Keys, error) {
	if cfg.SecretKeyText == "" && cfg.SecretKeyPath == "" {
		if _, err := readSecretKey(cfg.ownSecretKey()); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return sealKeys(cfg)
}

// SealVerifier checks the logs kept in d with the configuration's keys and marks.
func SealVerifier(ctx context.Context, cfg Config, d *db.DB) (*seal.Verifier, error) {
	keys, err := existingKeys(cfg)
	if err != nil {
		return nil, err
	}
	return seal.NewVerifier(ctx, d, keys, cfg.markStore())
}

// AcceptLogs opens new chains of seals over the logs kept in d, and returns how
// many: whatever happened to them before is no longer looked for.
func AcceptLogs(ctx context.Context, cfg Config, d *db.DB) (int, error) {
	keys, err := existingKeys(cfg)
	if err == nil && keys == nil {
		err = seal.ErrNoKey
	}
	if err != nil {
		return 0, err
	}
	n, err := seal.New(d, keys).Reopen(ctx)
	if err != nil {
		return n, err
	}
	return n, seal.Forget(ctx, d, keys, cfg.markStore())
}
