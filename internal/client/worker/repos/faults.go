package repos

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Unreadable is a clone that cannot be read, and so is not offered.
type Unreadable struct {
	Name   string
	Reason string // in git's words
	Since  time.Time
}

// faults are what keeps clones from being offered, by their directories.
type faults struct {
	log *slog.Logger

	mu sync.Mutex
	at map[string]Unreadable
}

// note says once why a clone is not offered.
func (f *faults) note(dir string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.at[dir]
	if known.Reason == err.Error() {
		return
	}
	if known.Since.IsZero() {
		known.Since = time.Now()
	}
	f.at[dir] = Unreadable{Name: repoName(dir), Reason: err.Error(), Since: known.Since}
	f.log.Warn("a repository is not offered: "+err.Error(), "dir", dir)
}

// forget forgets what was wrong with a clone that can be read.
func (f *faults) forget(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.at, dir)
}

// forgetGone forgets what was wrong with clones that are not there any more.
func (f *faults) forgetGone(clones []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.at, func(dir string, _ Unreadable) bool { return !slices.Contains(clones, dir) })
}

// Unreadable returns the clones that Discover could not read last, by name.
func (r *Repos) Unreadable() []Unreadable {
	r.faults.mu.Lock()
	defer r.faults.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.faults.at), func(a, b Unreadable) int { return strings.Compare(a.Name, b.Name) })
}
