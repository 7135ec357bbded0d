package backup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// tarFile is a file with one backup: written from its begin to its end, and read in any order.
type tarFile struct {
	path    string
	file    *os.File
	out     *tar.Writer // nil while it is read
	entries map[string]entry
}

// entry is where a file lies in the tar.
type entry struct{ at, size int64 }

var errReadOnly = errors.New("a tar is not changed once it is written")

// createTar begins a file beside its place.
func createTar(path string) (*Target, error) {
	unfinished := path + ".unfinished"
	file, err := os.OpenFile(unfinished, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, refuse("%s cannot be written: %v", path, errors.Unwrap(err))
	}
	// One that a killed backup left has no lock.
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, refuse("another backup is written to %s at this moment", path)
	}
	if err := file.Truncate(0); err != nil {
		_ = file.Close()
		return nil, refuse("%s cannot be written: %v", path, errors.Unwrap(err))
	}
	t := &tarFile{path: path, file: file, out: tar.NewWriter(file)}
	return &Target{Store: t, finish: t.finish, abandon: func() {
		_ = os.Remove(unfinished) // before the lock is given up
		_ = file.Close()
	}}, nil
}

// finish gives the file its name, unless there is one of that name by now.
func (t *tarFile) finish() error {
	defer func() {
		_ = os.Remove(t.file.Name())
		_ = t.file.Close()
	}()
	if err := errors.Join(t.out.Close(), t.file.Sync()); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	if err := os.Link(t.file.Name(), t.path); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	return syncDir(filepath.Dir(t.path))
}

// openTar looks where the files are.
func openTar(path string) (Store, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, refuse("%s cannot be read: %v", path, errors.Unwrap(err))
	}
	t := &tarFile{path: path, file: file, entries: map[string]entry{}}
	for in := tar.NewReader(file); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) && len(t.entries) > 0 {
			return t, nil
		}
		if err != nil {
			_ = file.Close()
			return nil, damage("%s is no backup, or was cut off: %v", path, err)
		}
		at, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		t.entries[head.Name] = entry{at, head.Size}
	}
}

// Put adds a file.
func (t *tarFile) Put(_ context.Context, name string, content []byte) error {
	if t.out == nil {
		return errReadOnly
	}
	if err := roomFor(filepath.Dir(t.path), int64(len(content))); err != nil {
		return err
	}
	head := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: time.Now().Truncate(time.Second)}
	if err := t.out.WriteHeader(head); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	if _, err := t.out.Write(content); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	return nil
}

// Get reads a file.
func (t *tarFile) Get(_ context.Context, name string) ([]byte, error) {
	e, found := t.entries[name]
	if !found {
		return nil, fmt.Errorf("%s in %s: %w", name, t.path, fs.ErrNotExist)
	}
	content := make([]byte, e.size)
	if _, err := t.file.ReadAt(content, e.at); err != nil {
		return nil, damage("%s in %s was cut off: %v", name, t.path, err)
	}
	return content, nil
}

// List returns names.
func (t *tarFile) List(_ context.Context, prefix string) (names []string, err error) {
	for name := range t.entries {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Remove is refused.
func (t *tarFile) Remove(context.Context, string) error { return errReadOnly }
