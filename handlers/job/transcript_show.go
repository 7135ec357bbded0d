package job

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
)

const (
	// stepPage is how many steps of a transcript are shown at once.
	stepPage = 100
	// stepsAfter is how many of them are behind the one that a link names.
	stepsAfter = 30
	// behindAll is behind each step.
	behindAll = 1 << 62
)

// showTranscript answers with the page of a job's transcript: ?epoch= shows that of an attempt, ?kind= steps of some
// kinds, ?q= those with a text, ?before= what is older than a step, ?step= what is around one, ?path= the last step that
// edits a file. htmx gets the panel alone.
func (p *Pages) showTranscript(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	job, err := p.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	v := parseTranscriptView(c)
	if v.Path != "" {
		return p.showWriter(c, who, job, v.Path)
	}
	did, err := p.readTranscript(ctx, who, job, v)
	if err != nil {
		return err
	}
	if web.IsHX(c) {
		return web.Render(c, http.StatusOK, view.TranscriptPanel(did.model()))
	}
	snap, err := p.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	shell, err := p.Page(c, who, snap, "", "Transcript of "+job.Key+" "+job.Title)
	if err != nil {
		return err
	}
	m := did.model()
	m.Tall = true
	return web.Render(c, http.StatusOK, view.TranscriptView(view.TranscriptPage{Shell: shell, Title: job.Title, Transcript: m}))
}

// showWriter leads to the last step that edits a file, of the newest attempt that does.
func (p *Pages) showWriter(c echo.Context, who tenancy.Principal, job jobs.Job, path string) error {
	ctx := c.Request().Context()
	epochs, err := p.Transcripts.Epochs(ctx, who.Workspace, job.ID)
	if err != nil {
		return err
	}
	for _, epoch := range epochs {
		n, err := p.Transcripts.LastEdit(ctx, transcript.Attempt{Workspace: who.Workspace, Job: job.ID, Epoch: epoch}, path)
		if err != nil {
			return err
		}
		if n > 0 {
			return c.Redirect(http.StatusSeeOther, links.TranscriptStep(job.Key, epoch, n))
		}
	}
	return fault.New(fault.NotFound, "No step of the transcripts of %s says that it edits this file.", job.Key)
}

// showStepText answers with all that is kept of the text of a step.
func (p *Pages) showStepText(c echo.Context, who tenancy.Principal) error {
	v := parseTranscriptView(c)
	page, err := p.Transcripts.Steps(c.Request().Context(), who, c.Param("key"), v.Epoch,
		transcript.Filter{After: max(v.Step-1, 0), Limit: 1})
	if err != nil {
		return err
	}
	if len(page.Steps) == 0 || page.Steps[0].N != v.Step {
		return fault.New(fault.NotFound, "The attempt has no step %d.", v.Step)
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.String(http.StatusOK, cleanText(page.Steps[0].Text))
}

// parseTranscriptView returns the part of a transcript that an address selects; what it says wrongly is left out.
func parseTranscriptView(c echo.Context) links.TranscriptView {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(c.QueryParam(name), 10, 64)
		return min(max(0, n), behindAll)
	}
	v := links.TranscriptView{Epoch: number("epoch"), Before: number("before"), Step: number("step"),
		Path: web.SearchText(c.QueryParam("path")), Text: web.SearchText(c.QueryParam("q"))}
	if _, known := stepGroups[c.QueryParam("kind")]; known {
		v.Kind = c.QueryParam("kind")
	}
	return v
}

// readTranscript reads a part of a transcript of a job. The newest part is live.
func (p *Pages) readTranscript(ctx context.Context, who tenancy.Principal, job jobs.Job, v links.TranscriptView) (transcriptData, error) {
	d := transcriptData{job: job, view: v}
	var err error
	if d.epochs, err = p.Transcripts.Epochs(ctx, who.Workspace, job.ID); err != nil {
		return d, err
	}
	if d.epoch = v.Epoch; d.epoch == 0 && len(d.epochs) > 0 {
		d.epoch = d.epochs[0]
	}
	if d.epoch == 0 {
		return d, nil
	}
	of := transcript.Attempt{Workspace: who.Workspace, Job: job.ID, Epoch: d.epoch}
	f := transcript.Filter{Before: behindAll, Kinds: stepGroups[v.Kind], Text: v.Text, Limit: stepPage}
	switch {
	case v.Step > 0:
		f.Before, f.Text, f.Kinds = v.Step+1, "", nil
	case v.Before > 0:
		f.Before = v.Before
	}
	if d.page, err = p.Transcripts.ReadAttempt(ctx, of, f); err != nil || v.Step == 0 {
		return d, err
	}
	behind, err := p.Transcripts.ReadAttempt(ctx, of, transcript.Filter{After: v.Step, Limit: stepsAfter})
	d.page.Steps = append(d.page.Steps, behind.Steps...)
	return d, err
}
