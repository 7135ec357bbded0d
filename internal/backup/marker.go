package backup

import (
	"encoding/json"
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

const markerName = "restore-unfinished.json"

// emptyWith are what an empty data directory may have: what was put there for the restored server, and
// what a server that did not start leaves.
var emptyWith = []string{"secret-key", "postgres.lock", "postgres.users", "postgres.log", "lost+found"}

// marker marks a data directory whose database is being restored. It is locked while that goes on.
type marker struct {
	file *os.File
	path string
}

// marked is what a marker says.
type marked struct {
	Backup string    `json:"backup"`
	Begun  time.Time `json:"begun"`
}

// begin marks a data directory, which is empty or was marked by a restore that was stopped.
func begin(dataDir string, m Manifest) (*marker, error) {
	if err := requireEmpty(dataDir); err != nil {
		return nil, err
	}
	// Open for passing through: the embedded server may run as another user.
	if err := os.MkdirAll(dataDir, 0o711); err != nil {
		return nil, refuse("the data directory cannot be made: %v", err)
	}
	path := filepath.Join(dataDir, markerName)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, refuse("%s cannot be written to: %v", dataDir, errors.Unwrap(err))
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, refuse("another restore writes to %s at this moment", dataDir)
	}
	text, err := json.Marshal(marked{m.ID, time.Now().UTC().Truncate(time.Second)})
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.Write(append(text, '\n'))
	}
	if err = errors.Join(err, file.Sync(), syncDir(dataDir)); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("marking the data directory: %w", err)
	}
	return &marker{file, path}, nil
}

// requireEmpty refuses a data directory that has anything, unless a restore that was stopped left it.
func requireEmpty(dataDir string) error {
	d, err := os.Open(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refuse("the data directory cannot be read: %v", err)
	}
	defer func() { _ = d.Close() }()
	names, err := d.Readdirnames(-1)
	if err != nil && !errors.Is(err, io.EOF) {
		return refuse("%s is no directory", dataDir)
	}
	if slices.Contains(names, markerName) {
		return nil
	}
	if slices.Contains(names, "postgres") || slices.Contains(names, "postgres.location") {
		return refuse("%s has a database already: name an empty FLEETBOARD_DATA_DIR, or move that one away", dataDir)
	}
	for _, name := range names {
		if !slices.Contains(emptyWith, name) && !strings.HasPrefix(name, "postgres.log") {
			return refuse("%s is not empty (it has %s): name an empty FLEETBOARD_DATA_DIR", dataDir, name)
		}
	}
	return nil
}

// remove takes the mark away.
func (m *marker) remove() error {
	err := os.Remove(m.path)
	return errors.Join(err, m.file.Close())
}

// leave gives the lock up and leaves the mark.
func (m *marker) leave() { _ = m.file.Close() }

// CheckFinished refuses a data directory whose restore was not finished.
func CheckFinished(dataDir string) error {
	text, err := os.ReadFile(filepath.Join(dataDir, markerName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var m marked
	if err != nil || json.Unmarshal(text, &m) != nil {
		return fmt.Errorf("the restore into %s was not finished: run fleetboard restore again", dataDir)
	}
	return fmt.Errorf("the restore of the backup %s into %s, begun at %s, was not finished: run fleetboard restore again",
		m.Backup, dataDir, stamp(m.Begun))
}
