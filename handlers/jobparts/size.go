package jobparts

import (
	"encoding/json"

	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Agents name the figures of a change differently.
var (
	AddedNames   = []string{"insertions", "additions", "added", "lines_added"}
	DeletedNames = []string{"deletions", "removed", "deleted", "lines_removed", "lines_deleted"}
	FilesNames   = []string{"files_changed", "changed_files", "files"}
)

// maxSized is the length of a result, in bytes, up to which a list looks for figures.
const maxSized = 16 << 10

// Size is what a job's result reports of the size of its change.
type Size struct {
	Files, Added, Deleted int
	Counted               bool // the lines are told
}

// ChangeSize reads the figures that a result reports, in itself or in its diff; it counts
// nothing by itself but a list of files.
func ChangeSize(j jobs.Job) Size {
	size := Size{Files: len(j.FilesTouched)}
	if len(j.Result) > maxSized {
		return size
	}
	var whole map[string]json.RawMessage
	if json.Unmarshal(j.Result, &whole) != nil {
		return size
	}
	for _, name := range []string{"diff", "changes"} {
		var part map[string]json.RawMessage
		if json.Unmarshal(whole[name], &part) == nil {
			size.read(part)
		}
	}
	size.read(whole)
	return size
}

func (s *Size) read(o map[string]json.RawMessage) {
	for _, name := range FilesNames {
		var list []json.RawMessage
		if n, ok := Figure(o, []string{name}); ok {
			s.Files = n
		} else if json.Unmarshal(o[name], &list) == nil && len(list) > 0 {
			s.Files = len(list)
		}
	}
	added, yes := Figure(o, AddedNames)
	deleted, too := Figure(o, DeletedNames)
	if yes || too {
		s.Added, s.Deleted, s.Counted = added, deleted, true
	}
}

// Figure is the first of the members that is a count.
func Figure(o map[string]json.RawMessage, names []string) (int, bool) {
	for _, name := range names {
		var f float64
		if raw, there := o[name]; there && json.Unmarshal(raw, &f) == nil && f >= 0 && f <= 1e9 {
			return int(f), true
		}
	}
	return 0, false
}
