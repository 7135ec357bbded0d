package job

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// HasCheckpoint reports whether another attempt can go on from what the last one
// kept.
func HasCheckpoint(j jobs.Job) bool { return len(j.Checkpoint) > 0 && string(j.Checkpoint) != "null" }

// Result is what agents usually put into a result; anything else is in the
// whole of it.
type Result struct {
	Summary string `json:"summary"`
	Commit  string `json:"commit"`
	Branch  string `json:"branch"`
	URL     string `json:"url"`
}

// ReadResult reads the known parts of a job's result; a part that is no text is
// left out.
func ReadResult(j jobs.Job) Result {
	var parts map[string]json.RawMessage
	if json.Unmarshal(j.Result, &parts) != nil {
		return Result{}
	}
	text := func(name string) string {
		var s string
		if json.Unmarshal(parts[name], &s) != nil {
			return ""
		}
		return s
	}
	return Result{Summary: text("summary"), Commit: text("commit"), Branch: text("branch"), URL: text("url")}
}

// ShortCommit returns the beginning of a commit's hash.
func ShortCommit(commit string) string {
	runes := []rune(commit)
	return string(runes[:min(7, len(runes))])
}

// Outcome returns what came of a job, nil as long as nothing has.
func Outcome(j jobs.Job) *view.Outcome {
	r := ReadResult(j)
	address := j.URL
	if address == "" {
		address = r.URL
	}
	m := &view.Outcome{Summary: ui.Markdown(r.Summary), Commit: r.Commit, Branch: r.Branch, LinkText: address,
		Approved: j.ApprovedHead, Merged: j.MergedCommit}
	if n := len(j.FilesTouched); n > 0 {
		m.Touched = web.Plural(n, "file", "files")
	}
	m.LinkURL = SafeAddress(address)
	if hasResult(j) {
		m.JSON = web.PrettyJSON(j.Result)
	}
	if j.Status == jobs.Failed {
		m.Error, m.Kind = j.LastError, strings.ReplaceAll(string(j.FailureKind), "_", " ")
	}
	if m.JSON == "" && m.Error == "" {
		return nil
	}
	return m
}

// SafeAddress returns an address that pages may lead to, "" for another one.
func SafeAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

func hasResult(j jobs.Job) bool {
	return !slices.Contains([]string{"", "null", "{}"}, strings.TrimSpace(string(j.Result)))
}
