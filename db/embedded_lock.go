package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Locks of files end with their process, however it ends. Programs that we
// start do not inherit them: Go closes files on exec.

// lockFile opens path and takes its exclusive lock.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock in the data directory: %w", err)
	}
	if err := takeLock(ctx, f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("another process is starting or stopping the database: %w", err)
	}
	return f, nil
}

// takeLock waits for f's exclusive lock until ctx ends.
func takeLock(ctx context.Context, f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// leave gives a lock up for good. It unlocks first: a program that is being
// started at this moment still shares the open file, and with it the lock.
func leave(f *os.File) {
	unlockFile(f)
	_ = f.Close()
}

func unlockFile(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// joinUsers counts this process among those who use the server.
func joinUsers(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock in the data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("joining the users of the database: %w", err)
	}
	return f, nil
}

// lastUser reports whether nobody else holds the lock that joinUsers took. The
// caller holds the start lock, so nobody joins meanwhile.
func lastUser(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// pause waits for d, or for the end of ctx, whose error it returns.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
