package job

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// How much of a line a page shows, in characters: messages at first, and what
// unfolds below them.
const (
	maxMessage = 1000
	maxDetails = 8000
)

// logLevels are the choices of levels, and their words.
var logLevels = []struct {
	level       joblog.Level
	word, label string
	tone        view.LogTone
}{
	{joblog.Debug, "Debug", "", view.LogQuiet},
	{joblog.Info, "Info", "Info", view.LogPlain},
	{joblog.Warning, "Warning", "Warnings", view.LogWarn},
	{joblog.Error, "Error", "Errors", view.LogBad},
	{joblog.Critical, "Critical", "", view.LogWorst},
}

// logData is what a part of a job's log is made of.
type logData struct {
	job   jobs.Job
	view  links.LogView
	found []joblog.Line // newest first
	more  bool          // there are older ones
	next  int64         // they are before this line; 0: before those found
	now   time.Time
}

func (s logData) model() view.Log {
	whole := links.LogView{Level: s.view.Level, Text: s.view.Text}
	newest := links.LogView{Level: s.view.Level, Epoch: s.view.Epoch, Text: s.view.Text}
	unsearched := newest
	unsearched.Text = ""
	m := view.Log{Key: s.job.Key, JobURL: links.Job(s.job.Key), LogURL: links.JobLog(s.job.Key, whole),
		PageURL: links.JobLog(s.job.Key, links.LogView{}),
		Attempt: int(s.view.Epoch), Part: s.view.Before > 0, Newest: links.JobLog(s.job.Key, newest), Filters: s.filters(),
		Level: s.view.Level, Text: s.view.Text, AllURL: links.JobLog(s.job.Key, unsearched), FileURL: links.LogText(s.job.Key, unsearched)}
	marks := matcher(s.view.Text)
	for _, l := range slices.Backward(s.found) {
		m.Lines = append(m.Lines, marks.mark(logLineModel(s.job.Key, l, s.now)))
	}
	older := newest
	if len(m.Lines) > 0 {
		older.Before = m.Lines[0].ID
	}
	if s.next > 0 {
		older.Before = s.next
	}
	m.Older, m.HasOlder = links.JobLog(s.job.Key, older), s.more
	if !m.Part && m.Text == "" && s.job.Status != jobs.Archived {
		m.LiveURL = links.LiveLog(s.job.Key, s.last(), newest)
	}
	return m
}

// last returns the newest line that is shown, 0 for none.
func (s logData) last() int64 {
	if len(s.found) == 0 {
		return 0
	}
	return s.found[0].ID
}

func (s logData) filters() []view.LogFilter {
	choice := func(label, level string) view.LogFilter {
		return view.LogFilter{Label: label, Current: level == s.view.Level,
			URL: links.JobLog(s.job.Key, links.LogView{Level: level, Epoch: s.view.Epoch, Text: s.view.Text})}
	}
	list := []view.LogFilter{choice("All", "")}
	for _, l := range logLevels {
		if l.label != "" {
			list = append(list, choice(l.label, string(l.level)))
		}
	}
	return list
}

func logLineModel(key string, l joblog.Line, now time.Time) view.LogLine {
	m := view.LogLine{ID: l.ID, URL: links.LogLine(key, l.ID), At: ui.At(l.ReceivedAt),
		Level: string(l.Level), Agent: l.Agent, Attempt: int(l.Epoch),
		Event: l.Event, Message: []view.LogPiece{{Text: web.Beginning(l.Message, maxMessage)}}, Details: detailsText(l.Details)}
	if now.Sub(l.ReceivedAt) >= 24*time.Hour {
		m.At = ui.Day(l.ReceivedAt)
	}
	if m.Message[0].Text != l.Message {
		m.Whole = l.Message
	}
	for _, k := range logLevels {
		if k.level == l.Level {
			m.Level, m.Tone = k.word, k.tone
		}
	}
	return m
}

// detailsText indents details that are short; of long ones it gives the
// beginning as it came, because indenting may make them far longer.
func detailsText(raw json.RawMessage) string {
	text := strings.TrimSpace(string(raw))
	if text == "{}" || text == "" {
		return ""
	}
	if len(text) <= maxDetails {
		text = web.PrettyJSON(raw)
	}
	return web.Beginning(text, maxDetails)
}
