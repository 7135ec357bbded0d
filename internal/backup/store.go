package backup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fleetboard/fleetboard/internal/blobs/s3"
)

// Store keeps named files, each small enough to be held in memory.
type Store interface {
	// Put writes a file, whole or not at all.
	Put(ctx context.Context, name string, content []byte) error
	// Get reads a file; fs.ErrNotExist where there is none.
	Get(ctx context.Context, name string) ([]byte, error)
	// List returns the names that begin with a prefix, in their order.
	List(ctx context.Context, prefix string) ([]string, error)
	// Remove deletes a file, if there is one.
	Remove(ctx context.Context, name string) error
}

const (
	bucketPrefix = "s3://"
	tarSuffix    = ".tar"
)

// Address names where backups are: a directory, a file *.tar, or s3://bucket/prefix.
type Address struct {
	Text string
	// Credentials are for a bucket.
	Credentials s3.Credentials
	// DataDirs are directories of a server, in which no backup belongs.
	DataDirs []string
}

// Create opens the address to write a backup. The errors are RefusedErrors, but for those of the disk.
func (a Address) Create() (*Target, error) {
	if strings.HasPrefix(a.Text, bucketPrefix) {
		objects, err := s3.NewObjects(a.Text, a.Credentials)
		if err != nil {
			return nil, refuse("%s %v", a.Text, err)
		}
		return &Target{Store: objects}, nil
	}
	path, err := a.plainPath()
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, tarSuffix) {
		return createTar(path)
	}
	return createDir(path)
}

// plainPath checks a path that a backup is to be written to.
func (a Address) plainPath() (string, error) {
	path, err := filepath.Abs(a.Text)
	if err != nil || a.Text == "" {
		return "", refuse("name a directory, a new file whose name ends in .tar, or s3://bucket/prefix")
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode().Type() == fs.ModeSymlink:
		return "", refuse("%s is a symbolic link: name what it leads to", path)
	case err == nil && !info.IsDir() && !strings.HasSuffix(path, tarSuffix):
		return "", refuse("%s is a file: name a directory, or a new file whose name ends in .tar", path)
	case err == nil && !info.IsDir():
		return "", refuse("%s is there already: name a new file", path)
	case errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(path, tarSuffix):
		return "", refuse("there is no directory %s: make it first, so that a disk that is not mounted is not missed", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", refuse("%s cannot be used: %v", path, errors.Unwrap(err))
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", refuse("there is no directory %s", filepath.Dir(path))
	}
	real = filepath.Join(real, filepath.Base(path))
	for _, dir := range a.DataDirs {
		if inside(real, dir) {
			return "", refuse("%s lies in the server's data directory %s: a backup belongs on another disk", path, dir)
		}
	}
	return real, nil
}

// inside reports whether path is dir or lies in it.
func inside(path, dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	way, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(way)
}

// Open opens the address to read backups.
func (a Address) Open() (Store, error) {
	if strings.HasPrefix(a.Text, bucketPrefix) {
		objects, err := s3.NewObjects(a.Text, a.Credentials)
		if err != nil {
			return nil, refuse("%s %v", a.Text, err)
		}
		return objects, nil
	}
	info, err := os.Stat(a.Text)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse("there is no backup at %s", a.Text)
	case err != nil:
		return nil, refuse("%s cannot be read: %v", a.Text, errors.Unwrap(err))
	case info.IsDir():
		return openDir(a.Text)
	}
	return openTar(a.Text)
}

// Target is where one backup is written. Finish or Abandon ends it.
type Target struct {
	Store

	// alone says that nobody else writes there meanwhile.
	alone   bool
	finish  func() error
	abandon func()
}

// Finish keeps what was written.
func (t *Target) Finish() error {
	if t.finish == nil {
		return nil
	}
	return t.finish()
}

// Abandon removes a file that was not finished, and lets others write to a directory. Single files of
// a directory or a bucket stay.
func (t *Target) Abandon() {
	if t.abandon != nil {
		t.abandon()
	}
}
