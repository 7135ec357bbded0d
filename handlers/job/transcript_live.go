package job

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
)

// streamTranscript answers with the stream of a transcript: the steps behind ?after=, or behind Last-Event-ID, an
// attempt and the number of a step, that pass the page's filter. Without ?epoch= it goes over to the next attempt.
func (p *Pages) streamTranscript(c echo.Context, who tenancy.Principal) error {
	return live.Serve(p.streams, c, who, func() (live.Feed[struct{}], func(), error) {
		epoch, after, err := parseStepPlace(live.Place(c))
		if err != nil {
			return nil, nil, err
		}
		job, err := p.Jobs.Get(c.Request().Context(), who, c.Param("key"))
		if err != nil {
			return nil, nil, err
		}
		t := &stepTail{pages: p, who: who, job: job, view: parseTranscriptView(c), epoch: epoch, after: after}
		var stop func()
		t.written, stop = p.Dispatch.WatchSteps(transcript.Attempt{Workspace: who.Workspace, Job: job.ID, Epoch: t.view.Epoch})
		return t, stop, nil
	})
}

// parseStepPlace reads the place of a reader.
func parseStepPlace(text string) (epoch, after int64, err error) {
	attempt, number, _ := strings.Cut(text, "-")
	epoch, err = strconv.ParseInt(attempt, 10, 64)
	if err == nil {
		after, err = strconv.ParseInt(number, 10, 64)
	}
	if err != nil || epoch < 0 || after < 0 {
		return 0, 0, fault.New(fault.Malformed, "The place in the transcript is not one that this server gave out.")
	}
	return epoch, after, nil
}

// stepTail feeds one page with the steps of an attempt.
type stepTail struct {
	pages   *Pages
	who     tenancy.Principal
	job     jobs.Job
	view    links.TranscriptView
	out     *live.Writer
	written <-chan struct{}

	epoch, after int64           // the last step that the reader has
	behind       int             // steps sent one after the other, more waiting
	pause        <-chan struct{} // until then nothing is sent
	more         bool            // there may be steps to send then
}

// Begin sends the steps behind the reader's place.
func (t *stepTail) Begin(ctx context.Context, out *live.Writer) error {
	t.out = out
	return t.send(ctx)
}

// C returns the end of the pause after a message, else the next write. A write during the pause stays in its
// channel.
func (t *stepTail) C() <-chan struct{} {
	if t.pause != nil {
		return t.pause
	}
	return t.written
}

// Take sends what was written.
func (t *stepTail) Take(ctx context.Context, _ struct{}, _ bool) (more bool, err error) {
	if t.pause != nil {
		t.pause = nil
		if !t.more {
			return true, nil
		}
	}
	return true, t.send(ctx)
}

// Beat keeps the connection open, and looks for steps: a wake-up may have been lost.
func (t *stepTail) Beat(ctx context.Context) error {
	if err := t.out.Comment(); err != nil {
		return err
	}
	return t.send(ctx)
}

// send shows what was written since the last message, unless that was just now.
func (t *stepTail) send(ctx context.Context) error {
	if t.pause != nil {
		t.more = true
		return nil
	}
	if over, err := t.isOver(ctx); err != nil || over {
		return err
	}
	if t.epoch == 0 {
		return nil
	}
	page, err := t.pages.Transcripts.ReadAttempt(ctx, transcript.Attempt{Workspace: t.who.Workspace, Job: t.job.ID, Epoch: t.epoch},
		transcript.Filter{After: t.after, Kinds: stepGroups[t.view.Kind], Limit: stepPage})
	if err != nil {
		return err
	}
	moved := page.Looked > t.after
	t.after, t.more = page.Looked, page.More
	if len(page.Steps) == 0 && !moved {
		t.behind = 0
		return nil
	}
	t.pause = pauseFor(logGap)
	if !page.More {
		t.behind = 0
	} else if t.behind += len(page.Steps); t.behind > farBehind {
		return t.anew(ctx)
	}
	part := make([]view.Step, 0, len(page.Steps))
	for _, s := range page.Steps {
		part = append(part, stepModel(t.job.Key, t.epoch, s, marker{}))
	}
	return t.show(ctx, view.LiveSteps(part, sumModel(page.Head)))
}

// isOver shows the transcript of another attempt that has begun, where the page follows the newest one.
func (t *stepTail) isOver(ctx context.Context) (bool, error) {
	if t.view.Epoch > 0 {
		return false, nil
	}
	epochs, err := t.pages.Transcripts.Epochs(ctx, t.who.Workspace, t.job.ID)
	if err != nil || len(epochs) == 0 || epochs[0] <= t.epoch {
		return false, err
	}
	t.pause = pauseFor(logGap)
	return true, t.anew(ctx)
}

// anew shows the newest steps in place of those that the reader has.
func (t *stepTail) anew(ctx context.Context) error {
	d, err := t.pages.readTranscript(ctx, t.who, t.job, t.view)
	if err != nil {
		return err
	}
	t.behind, t.more = 0, true
	t.epoch, t.after = d.epoch, d.page.Head.Last
	return t.show(ctx, view.LiveTranscriptAnew(d.model()))
}

func (t *stepTail) show(ctx context.Context, part templ.Component) error {
	return t.out.Parts(ctx, fmt.Sprintf("%d-%d", t.epoch, t.after), []templ.Component{part})
}
