package backup

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const statusName = "backup-status.json"

// Status says how the backups of a server stand, which one of its processes keeps.
type Status struct {
	// Address is where they are.
	Address string `json:"address"`
	// LastID and LastEnded are those of the newest backup; zero before the first.
	LastID    string    `json:"last_id,omitempty"`
	LastEnded time.Time `json:"last_ended,omitzero"`
	// Reached is up to when everything that was committed is archived.
	Reached time.Time `json:"reached,omitzero"`
	// Problem is what keeps backups from being made, or the log from being archived, since Since; "" where
	// all is well.
	Problem string    `json:"problem,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// The parts of the work, each with a problem of its own.
const (
	partLog = iota
	partBackups
	parts
)

// statusFile keeps the status in the data directory, so that all processes can show it.
type statusFile struct {
	path string

	mu       sync.Mutex
	is       Status
	problems [parts]string
	written  []byte
	at       time.Time
}

// statusEvery is how often a status is written of which only the time has changed.
const statusEvery = 10 * time.Second

func newStatusFile(dataDir, address string) *statusFile {
	s := &statusFile{path: filepath.Join(dataDir, statusName)}
	if is, err := ReadStatus(dataDir); err == nil && is.Address == address {
		s.is = is
		s.is.Problem = ""
	}
	s.is.Address = address
	return s
}

// ReadStatus reads the status of the backups that a server keeps; the zero value where none does.
func ReadStatus(dataDir string) (s Status, err error) {
	text, err := os.ReadFile(filepath.Join(dataDir, statusName))
	if errors.Is(err, fs.ErrNotExist) {
		return Status{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

// note notes how a part of the work went.
func (s *statusFile) note(part int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems[part] = ""
	if err != nil {
		s.problems[part] = err.Error()
	}
	was := s.is.Problem
	s.is.Problem = s.problems[partLog]
	if s.is.Problem == "" {
		s.is.Problem = s.problems[partBackups]
	}
	switch {
	case s.is.Problem == "":
		s.is.Since = time.Time{}
	case was == "":
		s.is.Since = time.Now().UTC().Truncate(time.Second)
	}
	s.write(was != s.is.Problem)
}

// backup notes the newest backup.
func (s *statusFile) backup(m Manifest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.is.LastID != m.ID
	s.is.LastID, s.is.LastEnded = m.ID, m.Ended
	s.write(changed)
}

// reached notes how far the log is archived.
func (s *statusFile) reached(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.is.Reached = at.UTC().Truncate(time.Second)
	s.write(false)
}

// write writes the status, at once or within some seconds. A file that cannot be written is left as it
// is: the log says what is wrong with the disk.
func (s *statusFile) write(now bool) {
	if !now && time.Since(s.at) < statusEvery {
		return
	}
	text, err := json.Marshal(s.is)
	if err != nil || string(text) == string(s.written) {
		return
	}
	next := s.path + ".new"
	if err := os.WriteFile(next, text, 0o600); err == nil && os.Rename(next, s.path) == nil {
		s.written, s.at = text, time.Now()
	}
}
