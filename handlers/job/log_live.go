package job

import (
	"context"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
)

// farBehind is how many lines are sent one after the other to a reader that
// fell behind. Beyond it the newest ones take the place of all.
const farBehind = 10 * logPage

// logGap is the least time between two messages of a log; the board's feed has a
// pace of its own.
const logGap = 150 * time.Millisecond

// streamLog answers with the stream of a job's log: the lines after ?after=, or after
// Last-Event-ID, that pass the page's filter.
func (p *Pages) streamLog(c echo.Context, who tenancy.Principal) error {
	return live.Serve(p.streams, c, who, func() (live.Feed[struct{}], func(), error) {
		ctx := c.Request().Context()
		after, err := strconv.ParseInt(live.Place(c), 10, 64)
		if err != nil || after < 0 {
			return nil, nil, fault.New(fault.Malformed, "The place in the log is not one that this server gave out.")
		}
		job, err := p.Jobs.Get(ctx, who, c.Param("key"))
		if err != nil {
			return nil, nil, err
		}
		t := &logTail{pages: p, who: who, job: job, view: parseLogView(c), after: after}
		var stop func()
		t.written, stop = p.Dispatch.WatchLogs(who.Workspace, job.ID)
		return t, stop, nil
	})
}

// logTail feeds one page with the lines of a job's log.
type logTail struct {
	pages   *Pages
	who     tenancy.Principal
	job     jobs.Job
	view    links.LogView
	out     *live.Writer
	written <-chan struct{}

	after  int64           // the last line that the reader has
	behind int             // lines sent one after the other, more waiting
	pause  <-chan struct{} // until then nothing is sent
	more   bool            // there may be lines to send then
}

// Begin sends the lines after the reader's place.
func (t *logTail) Begin(ctx context.Context, out *live.Writer) error {
	t.out = out
	return t.send(ctx)
}

// C returns the end of the pause after a message, else the next write. A write during
// the pause stays in its channel.
func (t *logTail) C() <-chan struct{} {
	if t.pause != nil {
		return t.pause
	}
	return t.written
}

// Take sends what was written.
func (t *logTail) Take(ctx context.Context, _ struct{}, _ bool) (more bool, err error) {
	if t.pause != nil {
		t.pause = nil
		if !t.more {
			return true, nil
		}
	}
	return true, t.send(ctx)
}

// Beat keeps the connection open, and looks for lines: a wake-up may have been lost.
func (t *logTail) Beat(ctx context.Context) error {
	if err := t.out.Comment(); err != nil {
		return err
	}
	return t.send(ctx)
}

// send shows what was written since the last message, unless that was just now.
func (t *logTail) send(ctx context.Context) error {
	if t.pause != nil {
		t.more = true
		return nil
	}
	lines, err := t.pages.JobLogs.LogsAfter(ctx, t.who, t.job.ID, t.after, toLogFilter(t.view))
	if err != nil || len(lines) == 0 {
		t.more, t.behind = false, 0
		return err
	}
	t.pause = pauseFor(logGap)
	if t.more = len(lines) == logPage; !t.more {
		t.behind = 0
	} else if t.behind += logPage; t.behind > farBehind {
		return t.anew(ctx)
	}
	part := make([]view.LogLine, 0, len(lines))
	for _, l := range lines {
		part = append(part, logLineModel(t.job.Key, l, time.Now()))
	}
	return t.show(ctx, lines[len(lines)-1].ID, view.LiveLogLines(part))
}

// anew shows the newest lines in place of those that the reader has.
func (t *logTail) anew(ctx context.Context) error {
	m, err := t.pages.readLog(ctx, t.who, t.job, t.view, time.Now())
	if err != nil || len(m.Lines) == 0 {
		return err
	}
	t.behind = 0
	return t.show(ctx, m.Lines[len(m.Lines)-1].ID, view.LiveLogAnew(m))
}

func (t *logTail) show(ctx context.Context, last int64, part templ.Component) error {
	t.after = last
	return t.out.Parts(ctx, strconv.FormatInt(last, 10), []templ.Component{part})
}

// pauseFor returns a channel that receives after a time.
func pauseFor(d time.Duration) <-chan struct{} {
	over := make(chan struct{}, 1)
	time.AfterFunc(d, func() { over <- struct{}{} })
	return over
}
