package job

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/spend"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// attemptsPageData is what the page of attempts is made of.
type attemptsPageData struct {
	job    jobs.Job
	list   []attempts.Record // newest first
	used   spend.JobUsage
	before int64 // the epoch that these are before, 0 for the newest
	more   bool  // there are older ones
	now    time.Time
}

func (s attemptsPageData) model() view.AttemptsPage {
	m := view.AttemptsPage{Key: s.job.Key, Title: s.job.Title, JobURL: links.Job(s.job.Key)}
	for _, a := range s.list {
		m.Attempts = append(m.Attempts, s.attempt(a))
	}
	if s.more {
		m.Older = links.Attempts(s.job.Key, s.list[len(s.list)-1].Epoch)
	}
	if s.before > 0 {
		m.Newest = links.Attempts(s.job.Key, 0)
	}
	return m
}

func (s attemptsPageData) attempt(a attempts.Record) view.AttemptRecord {
	m := view.AttemptRecord{Attempt: attemptModel(a.Attempt, s.job, s.now), Session: a.SessionKey,
		Claimed: ui.Day(a.ClaimedAt), Step: web.FirstLine(a.CurrentStep, web.MaxQuote), ErrorKind: a.ErrorKind, Error: a.Error,
		Stack: a.Stack, Checkpoint: formatJSON(a.Checkpoint), Result: formatJSON(a.Result),
		Lines: linesText(a)}
	m.Used = usedModel(s.used.Attempts[a.Epoch])
	if a.Lines > 0 {
		m.LogURL = links.JobLog(s.job.Key, links.LogView{Epoch: a.Epoch})
	}
	if a.StartedAt != nil {
		m.Started = ui.Day(*a.StartedAt)
	}
	if a.EndedAt != nil {
		m.Ended = ui.Day(*a.EndedAt)
	}
	return m
}

func (s attemptsPageData) epochs() []int64 {
	all := make([]int64, 0, len(s.list))
	for _, a := range s.list {
		all = append(all, a.Epoch)
	}
	return all
}

// formatJSON is JSON as a page shows it, "" where there is nothing in it.
func formatJSON(raw json.RawMessage) string {
	if slices.Contains([]string{"", "null", "{}"}, strings.TrimSpace(string(raw))) {
		return ""
	}
	return web.PrettyJSON(raw)
}

func linesText(a attempts.Record) string {
	if a.Lines == 0 {
		return "no log lines"
	}
	if a.Capped {
		return ui.Count(a.Lines) + "+ log lines"
	}
	return web.Plural(a.Lines, "log line", "log lines")
}
