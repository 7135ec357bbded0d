// Package outbox keeps final reports on disk until the server has decided about them, so
// that neither a crash of the worker nor an outage of the server loses one.
package outbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Outbox is a directory with one file for each report.
type Outbox struct{ dir string }

// Report is how an attempt ended.
type Report struct {
	// Job and Epoch name the lease that it ends.
	Job   string `json:"job"`
	Epoch int64  `json:"epoch"`
	// ID is the job's own, which no other server has.
	ID string `json:"id,omitempty"`
	// Verb is that of the call: complete, fail, release or ask, "" where the lease was not ours any
	// more. Body is what it sends.
	Verb string          `json:"verb"`
	Body json.RawMessage `json:"body"`
	// Logs are lines that the server has not got, in bodies of POST /fleet/logs.
	Logs []json.RawMessage `json:"logs,omitempty"`
	// Steps are those of the transcript that the server has not got, in bodies of POST /fleet/steps.
	Steps []json.RawMessage `json:"steps,omitempty"`
	// Usage is what the server has not got of it, in bodies of POST /fleet/usage.
	Usage []json.RawMessage `json:"usage,omitempty"`
	// Repo is where the work of the attempt is; "" where the job has none.
	Repo string `json:"repo,omitempty"`
	// Accepted: the server took it, and what follows from it is still to be done.
	Accepted bool `json:"accepted,omitempty"`
	// Plain: it took the place of one that was refused for its form.
	Plain bool `json:"plain,omitempty"`
	// Delivery is what the server still has to get about the branch, which is where it belongs:
	// a body of POST /fleet/delivery.
	Delivery json.RawMessage `json:"delivery,omitempty"`
	// Refusal are the origin's words that the server got, Refusals how often it got
	// some.
	Refusal  string `json:"refusal,omitempty"`
	Refusals int    `json:"refusals,omitempty"`
	// At is when it was written, by this host's clock.
	At time.Time `json:"at"`
}

// Open returns the outbox of a directory, which it makes.
func Open(dir string) (*Outbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Outbox{dir: dir}, nil
}

// Put writes a report, in place of an earlier one for the same lease. When it returns, the
// report outlives a crash of the host.
func (o *Outbox) Put(r Report) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeDurably(o.path(r), text)
}

// Remove takes a report away. One that is not there is no error.
func (o *Outbox) Remove(r Report) error {
	if err := os.Remove(o.path(r)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(o.dir)
}

// Pending returns all reports, the oldest first. A file that cannot be read is an error
// that names it; the others are returned beside it.
func (o *Outbox) Pending() ([]Report, error) {
	names, err := filepath.Glob(filepath.Join(o.dir, "*"+ending))
	if err != nil {
		return nil, err
	}
	var reports []Report
	var faults []error
	for _, name := range names {
		var r Report
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("report %s: %w", filepath.Base(name), err))
			continue
		}
		reports = append(reports, r)
	}
	slices.SortFunc(reports, func(a, b Report) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Job, b.Job), cmp.Compare(a.Epoch, b.Epoch))
	})
	return reports, errors.Join(faults...)
}

// ending is that of a report's file; one that is being written has another.
const ending = ".json"

// path returns the file of a lease, also where another server has a job of the same key. Keys of
// jobs may hold what file names may not.
func (o *Outbox) path(r Report) string {
	name := fmt.Sprintf("%x-e%d", r.Job, r.Epoch)
	if r.ID != "" {
		name += fmt.Sprintf("-%x", r.ID)
	}
	return filepath.Join(o.dir, name+ending)
}

// writeDurably replaces a file at once: after a crash it holds the old text or the new one.
func writeDurably(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone once it was renamed
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
