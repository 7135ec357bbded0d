package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fleetboard/fleetboard/db"
)

const (
	lockName        = ".lock"
	unwrittenPrefix = ".unwritten-"
	// unwrittenFor is after how long a file that is not written to the end belongs to nobody any more.
	unwrittenFor = time.Hour
)

// dir keeps files in a directory, for their owner alone.
type dir struct{ root string }

// createDir opens a directory for the one who writes a backup into it now.
func createDir(path string) (*Target, error) {
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, refuse("%s cannot be written to: %v", path, errors.Unwrap(err))
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, refuse("another backup is written to %s at this moment: begin again when it has ended", path)
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	removeUnwritten(path)
	release := func() { _ = lock.Close() }
	return &Target{Store: dir{path}, alone: true, finish: func() error { release(); return nil }, abandon: release}, nil
}

// removeUnwritten removes what processes left that were killed while they wrote.
func removeUnwritten(path string) {
	left, _ := filepath.Glob(filepath.Join(path, unwrittenPrefix+"*")) // of no bad pattern
	for _, name := range left {
		if info, err := os.Lstat(name); err == nil && time.Since(info.ModTime()) > unwrittenFor {
			_ = os.Remove(name) // else the next one does it
		}
	}
}

func openDir(path string) (Store, error) {
	if _, err := os.ReadDir(path); err != nil {
		return nil, refuse("%s cannot be read: %v", path, errors.Unwrap(err))
	}
	return dir{path}, nil
}

// Put writes a file beside its place and renames it. It leaves the disk the space that a database needs
// which lies there too.
func (d dir) Put(_ context.Context, name string, content []byte) error {
	// A disk that is not there any more is missed, and its place is not filled.
	if _, err := os.Stat(d.root); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	path := filepath.Join(d.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	if err := roomFor(filepath.Dir(path), int64(len(content))); err != nil {
		return err
	}
	unwritten, err := os.CreateTemp(d.root, unwrittenPrefix+"*") // made with 0600
	if err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	_, err = unwritten.Write(content)
	if err = errors.Join(err, unwritten.Sync(), unwritten.Close()); err == nil {
		err = os.Rename(unwritten.Name(), path)
	}
	if err != nil {
		_ = os.Remove(unwritten.Name()) // it holds nothing that is missed
		return fmt.Errorf("writing the backup: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir brings the names in a directory to the disk.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// roomFor reports whether a disk has space for so many bytes more.
func roomFor(path string, bytes int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return fmt.Errorf("the disk of the backup: %w", err)
	}
	if free := int64(disk.Bavail * uint64(disk.Bsize)); free < bytes+db.MinFree { //nolint:gosec // blocks of a disk
		return fmt.Errorf("the disk of %s is full: it has %d MB left, and %d MB are always left free",
			path, free>>20, db.MinFree>>20)
	}
	return nil
}

// Get reads a file.
func (d dir) Get(_ context.Context, name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(d.root, filepath.FromSlash(name))) // the error names the file
}

// List goes through the folder that the prefix names.
func (d dir) List(_ context.Context, prefix string) (names []string, err error) {
	folder := filepath.Join(d.root, filepath.FromSlash(filepath.Dir(prefix+"x")))
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		way, relErr := filepath.Rel(d.root, path)
		if err := errors.Join(err, relErr); err != nil {
			return err
		}
		if name := filepath.ToSlash(way); e.Type().IsRegular() && strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// Remove deletes a file, and its folder where that is empty then.
func (d dir) Remove(_ context.Context, name string) error {
	path := filepath.Join(d.root, filepath.FromSlash(name))
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an old backup: %w", err)
	}
	if filepath.Dir(path) != d.root {
		_ = os.Remove(filepath.Dir(path)) // refused while there is more in it
	}
	return nil
}
