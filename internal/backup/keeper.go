package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fleetboard/fleetboard/internal/runloop"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// keeperLock is the file of a data directory that the process locks which keeps its backups.
	keeperLock = "backup.lock"
	// takeTimeout bounds a backup that is made by the clock.
	takeTimeout = 24 * time.Hour
	// dueEvery is how often one looks whether a backup is due.
	dueEvery = 15 * time.Second
	// turnEvery is how often the other processes of a data directory try to take the lock.
	turnEvery = 5 * time.Second
)

// Plan says which backups a server makes by itself.
type Plan struct {
	Address Address
	// Every is the time from one backup to the next, Keep how many there are.
	Every time.Duration
	Keep  int
	// DataDir is where the processes of the embedded server meet.
	DataDir string
}

// Keeper archives the log of an embedded server and backs it up by the clock.
type Keeper struct {
	plan   Plan
	server Server
	log    *slog.Logger
	status *statusFile
	begun  chan struct{} // a chain has begun, which has no backup yet
	newest *Manifest     // of the store, nil until it was looked at
	old    error         // why old backups are not removed
}

// NewKeeper returns the keeper of a server.
func NewKeeper(plan Plan, server Server, log *slog.Logger) *Keeper {
	return &Keeper{plan: plan, server: server, log: log, status: newStatusFile(plan.DataDir, plan.Address.Text),
		begun: make(chan struct{}, 1)}
}

// Run keeps the backups until ctx ends. Of all processes with the data directory one does so at a time.
func (k *Keeper) Run(ctx context.Context) error {
	lock, err := k.turn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	return runloop.Keep(ctx, k.log,
		runloop.Task{Name: "log archive", Run: k.follow},
		runloop.Task{Name: "backup clock", Run: func(ctx context.Context) error {
			return runloop.Run(ctx, k.log, runloop.Loop{Name: "backups", Every: dueEvery, Timeout: takeTimeout,
				Kick: k.begun, Do: k.takeWhenDue})
		}})
}

// turn waits for the lock.
func (k *Keeper) turn(ctx context.Context) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(k.plan.DataDir, keeperLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep backups: %w", err)
	}
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return lock, nil
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = signal.Sleep(ctx, turnEvery)
		}
		if err != nil {
			_ = lock.Close()
			return nil, err
		}
	}
}

// takeWhenDue makes a backup where the newest is too old, or does not begin the log that is archived now.
func (k *Keeper) takeWhenDue(ctx context.Context) (err error) {
	defer func() { k.status.note(partBackups, err) }()
	store, err := k.plan.Address.Open()
	if err != nil {
		return err
	}
	chain, err := chainAt(ctx, k.server.URL, store)
	if err != nil || chain == "" {
		return err // the log comes first
	}
	if err := k.lookAt(ctx, store); err != nil {
		return err
	}
	if is := k.newest; is != nil && is.Copy != nil && is.Copy.Chain == chain && time.Since(is.Begun) < k.plan.Every {
		return k.old
	}
	to, err := k.plan.Address.Create()
	if err != nil {
		return err
	}
	m, err := Take(ctx, k.server, to, func(string, int64, int64) {})
	if err != nil {
		return err
	}
	k.newest = &m
	k.status.backup(m)
	k.log.InfoContext(ctx, "a backup was made", "backup", m.ID, "bytes", m.Size(), "seconds", int(m.Ended.Sub(m.Begun).Seconds()))
	k.old = prune(ctx, store, m, k.plan.Keep)
	return k.old
}

// lookAt reads which backup is the newest, once. Where one is damaged a new one is made.
func (k *Keeper) lookAt(ctx context.Context, store Store) error {
	if k.newest != nil {
		return nil
	}
	list, err := List(ctx, store)
	var damage *DamageError
	if errors.As(err, &damage) {
		return nil
	}
	if n := len(list); n > 0 {
		k.newest = &list[n-1].Manifest
		k.status.backup(*k.newest)
	}
	return err
}
