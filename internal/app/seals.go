package app

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

// marksEvery is how often the marks of the logs are brought up to date.
const marksEvery = 15 * time.Second

// sealKeys returns the keys of the server's secret key and of the one before it.
func sealKeys(cfg Config) (*seal.Keys, error) {
	key, earlier, err := cfg.keys()
	if err != nil {
		return nil, err
	}
	return seal.NewKeys(key, earlier...), nil
}

// markStore returns the store of the logs' marks.
func (c Config) markStore() seal.Store {
	if c.Keys.LogMarksURL != "" {
		return seal.Address{URL: c.Keys.LogMarksURL}
	}
	return seal.File{Dir: c.DataDir}
}

// keepMarks returns the task that brings the marks of the logs up to date. Of a log that was cut
// it logs once what is wrong with it.
func (a *App) keepMarks(cfg Config) runloop.Task {
	store := cfg.markStore()
	logged := map[ids.ID]int64{}
	keep := func(ctx context.Context) error {
		cuts, err := seal.Keep(ctx, a.db, a.services.Seals, store)
		for _, c := range cuts {
			if logged[c.Workspace] != c.Block {
				a.log.ErrorContext(ctx, "the log of events is not the one that this server sealed; run fleetboard audit",
					"workspace", c.Workspace, "detail", c.Detail)
				err = errors.Join(err, a.services.Losses.RecordCut(ctx, c))
				logged[c.Workspace] = c.Block
			}
		}
		return err
	}
	return runloop.Task{Name: "log marks", Run: func(ctx context.Context) error {
		return runloop.Run(ctx, a.log, runloop.Loop{Name: "log marks", Every: marksEvery, Jitter: time.Second, Do: keep})
	}}
}

// existingKeys returns the server's keys; nil where no secret key is configured and none was
// made before.
func existingKeys(cfg Config) (*seal.Keys, error) {
	if cfg.SecretKeyText == "" && cfg.SecretKeyPath == "" {
		if _, err := readSecretKey(cfg.generatedKeyPath()); errors.Is(err, fs.ErrNotExist) {
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

// AcceptLogs begins new chains of seals over the logs kept in d, and returns how many. What
// happened to the logs before is no longer checked.
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
