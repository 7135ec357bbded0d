package repos

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ClearLocks removes what a process that was killed left: locks of git in the mirrors, which
// would keep every later one out, halves of objects, and private directories in which no
// attempt is written, since they were only half made or half removed. It is for a process that
// alone uses the state, before it begins.
func (r *Repos) ClearLocks() error {
	mirrors, err := filepath.Glob(filepath.Join(r.State, "mirrors", "*.git"))
	faults := []error{err, r.clearUnwritten()}
	for _, dir := range mirrors {
		root, err := os.OpenRoot(dir)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		faults = append(faults, clearLocks(root), root.Close())
	}
	return errors.Join(faults...)
}

// clearUnwritten removes private directories in which no attempt is written.
func (r *Repos) clearUnwritten() error {
	dirs, err := filepath.Glob(filepath.Join(r.State, "private", "*"))
	faults := []error{err}
	for _, dir := range dirs {
		if !exists(filepath.Join(dir, keptFile)) {
			faults = append(faults, os.RemoveAll(dir))
		}
	}
	return errors.Join(faults...)
}

func clearLocks(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		name := filepath.Base(path)
		inObjects := strings.HasPrefix(path, "objects/")
		switch {
		case err != nil:
			return err
		case e.IsDir() && inObjects && (strings.HasPrefix(name, "incoming-") || strings.HasPrefix(name, "tmp_objdir-")):
			if err := root.RemoveAll(path); err != nil {
				return err
			}
			return fs.SkipDir
		case !e.IsDir() && (!inObjects && strings.HasSuffix(name, ".lock") || inObjects && strings.HasPrefix(name, "tmp_")):
			return root.Remove(path)
		}
		return nil
	})
}
