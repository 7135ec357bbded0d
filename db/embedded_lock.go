package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/fleetboard/fleetboard/internal/signal"
)

// Locks of files end with their process, however it ends, and hold for all
// namespaces of a machine. Programs that we start do not inherit them, except
// for the server, which is given its cluster's: Go closes files on exec.

// lockFile opens path and takes its exclusive lock.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock in the data directory: %w", err)
	}
	if err := takeLock(ctx, f); err != nil {
		_ = f.Close()
		if errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("another process is starting or stopping the database: %w", err)
		}
		return nil, err
	}
	return f, nil
}

// takeLock waits for f's exclusive lock until ctx ends.
func takeLock(ctx context.Context, f *os.File) error {
	for {
		if taken, err := tryLock(f, syscall.LOCK_EX); taken || err != nil {
			return err
		}
		if err := signal.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// tryLock takes f's lock unless others have it.
func tryLock(f *os.File, how int) (bool, error) {
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, lockFault(f.Name(), err)
}

// lockFault says what to do where a file system has no locks.
func lockFault(path string, err error) error {
	for _, none := range []error{syscall.ENOLCK, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EINVAL} {
		if errors.Is(err, none) {
			return fmt.Errorf("the file system of %s has no locks (flock), without which two servers could run on one database: "+
				"use another one for FLEETBOARD_DATA_DIR, or set DATABASE_URL: %w", filepath.Dir(path), err)
		}
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", path, err)
	}
	return nil
}

// claim takes the lock of the cluster; nil where it is taken. The server inherits
// the lock and hands it on to its helpers, so that it is held until the last
// process that can write to the cluster is gone. Close gives our part of it up.
func (c cluster) claim() (*os.File, error) {
	f, err := os.OpenFile(c.lockFile(), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the database: %w", err)
	}
	taken, err := tryLock(f, syscall.LOCK_EX)
	if taken {
		return f, nil
	}
	_ = f.Close()
	return nil, err
}

// claimed reports whether somebody has the lock of the cluster.
func (c cluster) claimed() bool {
	f, err := os.OpenFile(c.lockFile(), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer leave(f)
	free, err := tryLock(f, syscall.LOCK_SH)
	return !free && err == nil
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
		return nil, lockFault(path, err)
	}
	return f, nil
}

// lastUser reports whether nobody else holds the lock that joinUsers took. The
// caller holds the start lock, so nobody joins meanwhile.
func lastUser(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
