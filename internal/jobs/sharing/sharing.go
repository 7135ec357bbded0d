// Package sharing decides which jobs of one repo may have their files: those of one repo whose
// files may be the same are not under way at once. It knows no database.
package sharing

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/globs"
)

const (
	// Most is how many jobs may share one repo, and how many of those that wait for files of it
	// are looked at, the most urgent first. With the hundred globs that a job may declare, both
	// bound what one decision costs.
	Most = 200
	// maxWitnesses is how many paths are named that two jobs may touch.
	maxWitnesses = 5
)

// Rival is a job that has files of a repo, or waits for them.
type Rival struct {
	ID       ids.ID
	Priority int
	Yields   bool // it is ready: a more urgent job takes its place
	Files    globs.Set
}

// Repo is who has the files of one repo, and who waits for them, the next one first.
type Repo struct {
	holders, waiters []Rival
	full             bool // there are more waiters
	steps            *globs.Steps
}

// NewRepo returns a repo of which nobody has a file. Decisions about it use the steps.
func NewRepo(steps *globs.Steps) *Repo { return &Repo{steps: steps} }

// AddHolder adds a job that has its files.
func (s *Repo) AddHolder(r Rival) { s.holders = append(s.holders, r) }

// AddWaiter adds a job that waits for its files, after those that come before it.
func (s *Repo) AddWaiter(r Rival) {
	if s.full = s.full || len(s.waiters) == Most; !s.full {
		s.waiters = append(s.waiters, r)
	}
}

// Waiters returns the jobs that wait, the next one first.
func (s *Repo) Waiters() []Rival { return slices.Clone(s.waiters) }

// MayHave reports whether a job may have its files: no job has one of them, and none waits for
// one that comes before this job, unless this one has its place already. Those that have to
// yield are returned.
func (s *Repo) MayHave(r Rival) (yielding []ids.ID, may bool) {
	place := slices.IndexFunc(s.waiters, func(w Rival) bool { return w.ID == r.ID })
	has := slices.ContainsFunc(s.holders, func(h Rival) bool { return h.ID == r.ID })
	if !has && (place < 0 && s.full || len(s.holders) >= Most) {
		return nil, false
	}
	for i, w := range s.waiters {
		if has {
			break
		}
		ahead := w.Priority > r.Priority || w.Priority == r.Priority && (place < 0 || i < place)
		if ahead && w.ID != r.ID && w.Files.Overlaps(r.Files, s.steps) {
			return nil, false
		}
	}
	for _, h := range s.holders {
		if h.ID == r.ID || !h.Files.Overlaps(r.Files, s.steps) {
			continue
		}
		if !h.Yields || h.Priority >= r.Priority {
			return nil, false
		}
		yielding = append(yielding, h.ID)
	}
	return yielding, true
}

// Let notes that a job has its files from now on.
func (s *Repo) Let(r Rival, yielding []ids.ID) {
	s.holders = slices.DeleteFunc(s.holders, func(h Rival) bool { return h.ID == r.ID || slices.Contains(yielding, h.ID) })
	s.holders = append(s.holders, r)
	s.waiters = slices.DeleteFunc(s.waiters, func(w Rival) bool { return w.ID == r.ID })
}

// Blocking returns the job that keeps another one waiting, and paths that both may touch.
func (s *Repo) Blocking(r Rival) (other ids.ID, paths []string, waits, is bool) {
	holders := slices.Clone(s.holders)
	slices.SortFunc(holders, func(a, b Rival) int {
		switch {
		case a.Yields == b.Yields:
			return slices.Compare(a.ID[:], b.ID[:]) // always the same one is named
		case b.Yields:
			return -1
		}
		return 1
	})
	for _, h := range holders {
		if paths, overlap := h.Files.Overlap(r.Files, maxWitnesses, s.steps); overlap && h.ID != r.ID {
			return h.ID, paths, false, true
		}
	}
	for _, w := range s.waiters {
		if w.ID == r.ID {
			break
		}
		if paths, overlap := w.Files.Overlap(r.Files, maxWitnesses, s.steps); overlap {
			return w.ID, paths, true, true
		}
	}
	return ids.Nil, nil, false, false
}
