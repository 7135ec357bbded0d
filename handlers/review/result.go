package review

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/jobparts"
	"github.com/fleetboard/fleetboard/handlers/web"
	view "github.com/fleetboard/fleetboard/views/review"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Limits of what a page says of a result.
const (
	maxFindings = 12
	maxMembers  = 6 // of an object in one line
)

// Agents name the same thing differently.
var (
	pathNames   = []string{"path", "file", "filename", "name"}
	statusNames = []string{"status", "change"}
)

// shownElsewhere are the members of a result that the page shows in places of
// their own.
var shownElsewhere = slices.Concat([]string{"summary", "commit", "branch", "url", "diff", "changes", "patch_blob"}, warned,
	jobparts.AddedNames, jobparts.DeletedNames, jobparts.FilesNames)

// object is a JSON object of which nothing is known for certain.
type object map[string]json.RawMessage

func parseObject(raw json.RawMessage) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// text is the first of the members that is a text.
func (o object) text(names []string) string {
	for _, name := range names {
		var s string
		if raw, there := o[name]; there && json.Unmarshal(raw, &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// parseChanges is what a result says of the changed files, in whatever way it says
// it; nil where it says nothing.
func parseChanges(raw json.RawMessage) *view.Changes {
	o := parseObject(raw)
	m := &view.Changes{}
	for _, name := range []string{"diff", "changes"} {
		m = diffIn(o[name], m)
	}
	m = countsIn(o, m)
	if len(m.Files) == 0 && m.Count == 0 && !m.Counted {
		return nil
	}
	if hidden := len(m.Files) - maxDiffFiles; hidden > 0 {
		m.Files, m.Hidden = m.Files[:maxDiffFiles], hidden
	}
	m.Count = max(m.Count, len(m.Files)+m.Hidden)
	return m
}

// diffIn reads a member that is a unified diff, a list of files, or an object
// that counts.
func diffIn(raw json.RawMessage, m *view.Changes) *view.Changes {
	var text string
	switch {
	case json.Unmarshal(raw, &text) == nil:
		files, conflicts := parseDiff(text)
		m.Files, m.Conflicts = append(m.Files, files...), append(m.Conflicts, conflicts...)
	case parseObject(raw) != nil:
		m = countsIn(parseObject(raw), m)
	default:
		m.Files = append(m.Files, filesIn(raw)...)
	}
	return sum(m)
}

func countsIn(o object, m *view.Changes) *view.Changes {
	for _, name := range jobparts.FilesNames {
		if len(m.Files) == 0 {
			m.Files = filesIn(o[name])
			m = sum(m)
		}
	}
	if n, ok := jobparts.Figure(o, jobparts.FilesNames); ok {
		m.Count = n
	}
	added, yes := jobparts.Figure(o, jobparts.AddedNames)
	deleted, too := jobparts.Figure(o, jobparts.DeletedNames)
	if yes || too {
		m.Added, m.Deleted, m.Counted = added, deleted, true
	}
	return m
}

// sum counts the lines of the files.
func sum(m *view.Changes) *view.Changes {
	for i, f := range m.Files {
		if i == 0 {
			m.Added, m.Deleted, m.Counted = 0, 0, false
		}
		m.Added, m.Deleted, m.Counted = m.Added+f.Added, m.Deleted+f.Deleted, m.Counted || f.Counted
	}
	return m
}

// filesIn reads a list of paths, or of objects with a path.
func filesIn(raw json.RawMessage) []view.ChangedFile {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var files []view.ChangedFile
	for _, item := range list {
		var f view.ChangedFile
		if json.Unmarshal(item, &f.Path) != nil {
			o := parseObject(item)
			f.Path, f.Note = o.text(pathNames), web.FirstLine(o.text(statusNames), web.MaxSub)
			var yes, too bool
			f.Added, yes = jobparts.Figure(o, jobparts.AddedNames)
			f.Deleted, too = jobparts.Figure(o, jobparts.DeletedNames)
			f.Counted = yes || too
		}
		if f.Path != "" {
			files = append(files, f)
		}
	}
	return files
}

// parseFindings are the other members of a result that fit into a line each, such
// as tests and usage. The rest is in the whole of the result.
func parseFindings(raw json.RawMessage) []view.Finding {
	o := parseObject(raw)
	names := make([]string, 0, len(o))
	for name := range o {
		if !slices.Contains(shownElsewhere, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var list []view.Finding
	for _, name := range names {
		text, ok := formatLine(o[name])
		if ok && len(list) < maxFindings {
			list = append(list, view.Finding{Name: jobparts.CheckName(name), Text: text, Tone: jobparts.CheckTone(o[name])})
		}
	}
	return list
}

// formatLine writes a value in one line: a scalar, a short list of them, or an
// object of a few.
func formatLine(raw json.RawMessage) (string, bool) {
	if text, ok := scalar(raw); ok {
		return text, text != ""
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return joined(list, func(item json.RawMessage) (string, bool) { return scalar(item) })
	}
	o := parseObject(raw)
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return joined(names, func(name string) (string, bool) {
		text, ok := scalar(o[name])
		return strings.ReplaceAll(name, "_", " ") + " " + text, ok
	})
}

func joined[T any](list []T, write func(T) (string, bool)) (string, bool) {
	if len(list) == 0 || len(list) > maxMembers {
		return "", false
	}
	words := make([]string, len(list))
	for i, item := range list {
		text, ok := write(item)
		if !ok {
			return "", false
		}
		words[i] = text
	}
	return web.FirstLine(strings.Join(words, ", "), web.MaxQuote), true
}

func scalar(raw json.RawMessage) (string, bool) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return "", false
	}
	switch v := value.(type) {
	case string:
		return web.FirstLine(v, web.MaxQuote), true
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v], true
	case float64:
		if v == float64(int64(v)) && v >= 0 && v < 1e15 {
			return ui.Count(int(v)), true
		}
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case nil:
		return "", true
	default:
		return "", false
	}
}
