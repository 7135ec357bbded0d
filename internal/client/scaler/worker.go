package scaler

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// phase is where a worker is between its start and its end.
type phase string

const (
	running  phase = "running"
	draining phase = "draining" // it is given no jobs, and ends once it has none
	stopping phase = "stopping" // it was told to end
)

// worker is a worker that was started here, as its directory has it.
type worker struct {
	Factory   string    `json:"factory"`
	Phase     phase     `json:"phase"`
	StartedAt time.Time `json:"started_at"`
	Since     time.Time `json:"since"` // when the phase began

	dir   string
	slot  int
	ended chan string // gets how it ended, where this process has started it
	why   string      // it ended
	seen  bool        // its process was seen alive by this scaler
	gone  bool
	dying int // signals that it was sent
}

// write stores what the worker is, whole or not at all.
func (w *worker) write() error {
	raw, err := json.Marshal(w)
	if err != nil {
		return err
	}
	next := filepath.Join(w.dir, "worker.new")
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(w.dir, "worker.json"))
}

// enter begins a phase.
func (w *worker) enter(p phase, now time.Time) error {
	w.Phase, w.Since, w.dying = p, now, 0
	return w.write()
}

// forget removes the worker's directory. It is moved first: a process that has not written its
// id yet does not begin then.
func (w *worker) forget() error {
	gone := w.dir + ".gone"
	if err := os.RemoveAll(gone); err != nil {
		return err
	}
	if err := os.Rename(w.dir, gone); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

// adopt reads the workers of a pool that an earlier scaler started.
func adopt(dir string) ([]*worker, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	var all []*worker
	for _, e := range entries {
		w := &worker{dir: filepath.Join(dir, e.Name())}
		if _, scanned := fmt.Sscanf(e.Name(), "%d", &w.slot); scanned != nil || !e.IsDir() || filepath.Ext(e.Name()) != "" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(w.dir, "worker.json"))
		if err != nil || json.Unmarshal(raw, w) != nil || w.Factory == "" {
			// It was made, and no start was asked for.
			if err := w.forget(); err != nil {
				return nil, err
			}
			continue
		}
		all = append(all, w)
	}
	return all, err
}
