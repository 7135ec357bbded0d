package handlers

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
)

// farBehind is how many lines are sent one after the other to a reader that
// fell behind. Beyond it the newest ones take the place of all.
const farBehind = 10 * logPage

// jobLogLive is the stream of a job's log: the lines after ?after=, or after
// Last-Event-ID, that pass the page's filter.
func (s *Server) jobLogLive(limit *streamLimit) func(echo.Context, tenancy.Principal) error {
	return func(c echo.Context, who tenancy.Principal) error {
		leave, ok := limit.enter(who.Account)
		if !ok {
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(heartbeatEvery/time.Second)))
			return c.String(http.StatusServiceUnavailable, "Too many live pages are open.\n")
		}
		defer leave()
		ctx, cancel := context.WithCancel(c.Request().Context())
		defer cancel()
		after, err := strconv.ParseInt(placeOfReader(c), 10, 64)
		if err != nil || after < 0 {
			return fault.New(fault.Malformed, "The place in the log is not one that this server gave out.")
		}
		job, err := s.Jobs.Get(ctx, who, c.Param("key"))
		if err != nil {
			return err
		}
		t := &logTail{server: s, who: who, job: job, view: logViewOf(c), after: after}
		var stop func()
		t.written, stop = s.Dispatch.WatchLogs(who.Workspace, job.ID)
		defer stop()
		changed, forget := s.membersNews(who)
		defer forget()
		t.out, err = openStream(c)
		defer t.out.end()
		if err == nil {
			err = t.run(ctx, changed, func() bool { return s.Web.StillIn(c, who) })
		}
		if ctx.Err() != nil {
			return nil // the reader has gone; there is nobody to tell
		}
		return err
	}
}

// logTail feeds one page with the lines of a job's log.
type logTail struct {
	server  *Server
	who     tenancy.Principal
	job     jobs.Job
	view    links.LogView
	out     *eventStream
	written <-chan struct{}

	after  int64            // the last line that the reader has
	behind int              // lines sent one after the other, more waiting
	next   <-chan time.Time // until then nothing is sent
	more   bool             // there may be lines to send then
}

// run sends until the reader, the session, the server or the stream's time ends.
func (t *logTail) run(ctx context.Context, members <-chan struct{}, stillIn func() bool) error {
	beat, check := time.NewTicker(heartbeatEvery), time.NewTicker(sessionEvery)
	defer beat.Stop()
	defer check.Stop()
	age := time.NewTimer(time.Duration(float64(oldest) * (0.8 + 0.4*rand.Float64())))
	defer age.Stop()
	err := t.send(ctx)
	for err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-t.server.Done:
			return nil
		case <-age.C:
			return nil
		case <-members:
			if !stillIn() {
				return nil
			}
		case <-check.C:
			if !stillIn() {
				return nil
			}
		case <-beat.C:
			// A wake-up may have been lost.
			if err = t.out.comment(); err == nil {
				err = t.send(ctx)
			}
		case <-t.next:
			t.next = nil
			if t.more {
				err = t.send(ctx)
			}
		case <-t.written:
			err = t.send(ctx)
		}
	}
	return err
}

// send shows what was written since the last message, unless that was just now.
func (t *logTail) send(ctx context.Context) error {
	if t.next != nil {
		t.more = true
		return nil
	}
	lines, err := t.server.Jobs.LogsAfter(ctx, t.who, t.job.ID, t.after, logFilterOf(t.view))
	if err != nil || len(lines) == 0 {
		t.more, t.behind = false, 0
		return err
	}
	t.next = time.After(gap)
	if t.more = len(lines) == logPage; !t.more {
		t.behind = 0
	} else if t.behind += logPage; t.behind > farBehind {
		return t.anew(ctx)
	}
	part := make([]views.LogLine, 0, len(lines))
	for _, l := range lines {
		part = append(part, logLineModel(l, time.Now()))
	}
	return t.show(ctx, lines[len(lines)-1].ID, views.LiveLogLines(part))
}

// anew shows the newest lines in place of those that the reader has.
func (t *logTail) anew(ctx context.Context) error {
	m, err := t.server.jobLogModel(ctx, t.who, t.job, t.view, time.Now())
	if err != nil || len(m.Lines) == 0 {
		return err
	}
	t.behind = 0
	return t.show(ctx, m.Lines[len(m.Lines)-1].ID, views.LiveLogAnew(m))
}

func (t *logTail) show(ctx context.Context, last int64, part templ.Component) error {
	t.after = last
	return t.out.parts(ctx, strconv.FormatInt(last, 10), []templ.Component{part})
}
