package job

import (
	"encoding/json"

	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/jobparts"
)

// ChangesNames are the members of a result that say what was changed; docs/agents.md has them.
var ChangesNames = []string{"files_changed", "insertions", "deletions", "diff"}

// maxSized is the length of a result, in bytes, up to which a list looks for figures.
const maxSized = 16 << 10

// Changes is what a job's result reports of its change.
type Changes struct {
	Files          int
	Paths          []string // of the files, nil where they are only counted
	Added, Deleted int
	Counted        bool // the lines are known
	Diff           string
}

// ReadChanges reads what a result says of its change: files_changed (a count, or the paths),
// insertions, deletions, and diff (a unified diff, or an object with the other three).
func ReadChanges(result json.RawMessage) Changes {
	var m Changes
	var said map[string]json.RawMessage
	if json.Unmarshal(result, &said) != nil {
		return m
	}
	var part map[string]json.RawMessage
	if json.Unmarshal(said["diff"], &m.Diff) != nil && json.Unmarshal(said["diff"], &part) == nil {
		m.read(part)
	}
	m.read(said)
	return m
}

func (m *Changes) read(said map[string]json.RawMessage) {
	var paths []string
	if n, ok := figure(said["files_changed"]); ok {
		m.Files = n
	} else if json.Unmarshal(said["files_changed"], &paths) == nil && paths != nil {
		m.Files, m.Paths = len(paths), paths
	}
	added, yes := figure(said["insertions"])
	deleted, too := figure(said["deletions"])
	if yes || too {
		m.Added, m.Deleted, m.Counted = added, deleted, true
	}
}

// ChangeSize returns what a job's result reports of the size of its change, without its diff.
func ChangeSize(j jobs.Job) Changes {
	if len(j.Result) > maxSized {
		return Changes{Files: len(j.FilesTouched)}
	}
	m := ReadChanges(j.Result)
	if c := changedFiles(m); c != nil && c.Added+c.Deleted > 0 {
		m.Files, m.Added, m.Deleted, m.Counted = c.Count, c.Added, c.Deleted, true
	}
	if m.Files == 0 {
		m.Files = len(j.FilesTouched)
	}
	return m
}

// figure reads a count.
func figure(raw json.RawMessage) (int, bool) {
	var f float64
	if raw == nil || json.Unmarshal(raw, &f) != nil || f < 0 || f > 1e9 {
		return 0, false
	}
	return int(f), string(raw) != "null"
}

// ParseChanges returns what a result says of the changed files, nil where it says nothing. Figures
// that it names count for more than those of its diff.
func ParseChanges(raw json.RawMessage) *view.Changes { return changedFiles(ReadChanges(raw)) }

func changedFiles(said Changes) *view.Changes {
	m := &view.Changes{}
	m.Files, m.Conflicts = parseDiff(said.Diff)
	if len(m.Files) == 0 {
		for _, path := range said.Paths {
			m.Files = append(m.Files, view.ChangedFile{Path: path})
		}
	}
	for _, f := range m.Files {
		m.Added, m.Deleted, m.Counted = m.Added+f.Added, m.Deleted+f.Deleted, m.Counted || f.Counted
	}
	if said.Counted {
		m.Added, m.Deleted, m.Counted = said.Added, said.Deleted, true
	}
	if len(m.Files) == 0 && said.Files == 0 && !m.Counted {
		return nil
	}
	if hidden := len(m.Files) - maxDiffFiles; hidden > 0 {
		m.Files, m.Hidden = m.Files[:maxDiffFiles], hidden
	}
	m.Count = max(said.Files, len(m.Files)+m.Hidden)
	return m
}
