package review

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/history"
	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/review"
	"github.com/fleetboard/fleetboard/views/ui"
)

const (
	// maxScan is how many events of a job are looked at for what has moved, maxSteps how many are named.
	maxScan  = 200
	maxSteps = 6
)

// seen is what a link was sent about. A link that names no version is none.
type seen struct {
	version int
	head    string
}

func readSeen(in url.Values) seen {
	n, err := strconv.Atoi(in.Get("version"))
	if err != nil || n < 1 {
		return seen{}
	}
	return seen{version: n, head: web.FirstLine(in.Get("head"), jobs.MaxCommit)}
}

func (s seen) linked() bool { return s.version > 0 }

// moved reports whether a job is not what the link was sent about.
func (s seen) moved(j jobs.Job) bool {
	return s.linked() && (s.version != j.Version || !s.sameHead(j))
}

// sameHead takes a head that is the beginning of a commit for that commit.
func (s seen) sameHead(j jobs.Job) bool {
	commit := jobparts.ReadResult(j).Commit
	return s.head == commit || s.head != "" && strings.HasPrefix(commit, s.head)
}

// describeMoved says what has moved since a link was sent, from the job's events, newest first; nil
// where nothing has.
func describeMoved(j jobs.Job, from seen, events []eventlog.Event, now time.Time) *view.Moved {
	if !from.moved(j) {
		return nil
	}
	m := &view.Moved{Title: j.Key + " has moved since the link was sent."}
	if from.version > j.Version {
		m.Title = "The link names a version that " + j.Key + " does not have."
		return m
	}
	if commit := jobparts.ReadResult(j).Commit; !from.sameHead(j) {
		m.Facts = append(m.Facts, ui.Say(ui.T("The link is about "), commitWord(from.head), ui.T("; what is handed in now is "),
			commitWord(commit), ui.T(".")))
	}
	if from.version != j.Version {
		m.Facts = append(m.Facts, ui.Text(fmt.Sprintf("It was version %d, it is version %d.", from.version, j.Version)))
	}
	// Each event that was written along with the row has raised the version by one.
	left := j.Version - from.version
	for _, e := range events {
		if left == 0 {
			break
		}
		if e.SavedAt == nil {
			continue
		}
		if left--; len(m.Steps) < maxSteps {
			m.Steps = append(m.Steps, step(e, now))
		}
	}
	if more := j.Version - from.version - len(m.Steps); more > 0 {
		m.More = "and " + web.Plural(more, "change", "changes") + " before"
	}
	return m
}

func commitWord(commit string) ui.Span {
	if commit == "" {
		return ui.T("no commit")
	}
	return ui.Key(jobparts.ShortCommit(commit))
}

// step names one event: what it was, which fields it changed, by whom and when.
func step(e eventlog.Event, now time.Time) ui.Sentence {
	line := history.Line(e)
	s := ui.Say(ui.Strong(line.Kind))
	if len(line.Text) > 0 {
		s = append(append(s, ui.T(": ")), line.Text...)
	}
	for _, c := range line.Changes {
		s = append(s, ui.T("; "+c.Field+" was "))
		s = append(append(append(s, c.Was...), ui.T(", is ")), c.Now...)
	}
	return append(s, ui.T(", by "), ui.Name(e.Actor.Name), ui.T(" "), ui.Moment(ui.Ago(e.At, now)))
}
