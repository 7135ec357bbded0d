package jobform

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/jobform"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// show is the empty form. What an address says beforehand (repo, title)
// is filled in; ?from=FB-12 fills in what that job is.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	if key := c.QueryParam("from"); key != "" {
		return p.newJobPage(c, who, http.StatusOK, pageData{copied: key})
	}
	form := blankForm()
	asked := parseForm(c.QueryParams())
	form.title, form.repo, form.factory, form.engine = asked.title, asked.repo, asked.factory, asked.engine
	form.capabilities, form.dependsOn, form.product, form.phase = asked.capabilities, asked.dependsOn, asked.product, asked.phase
	// Whoever asked for a certain host or product wants no repo that others hold.
	free := form.repo == "" && form.factory == "" && form.product == "" && len(form.needed()) == 0
	return p.newJobPage(c, who, http.StatusOK, pageData{form: form, blank: c.QueryString() == "", chooseRepo: free})
}

// showDraft is the form as it was typed before, which the browser has kept.
func (p *Pages) showDraft(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	return p.newJobPage(c, who, http.StatusOK, pageData{form: parseForm(in)})
}

// newJobPage shows the form with the present fleet around it.
func (p *Pages) newJobPage(c echo.Context, who tenancy.Principal, status int, sheet pageData) error {
	ctx := c.Request().Context()
	around, err := p.Screens.FormPage(ctx, who, screens.FormQuery{Job: sheet.copied}, func(page screens.FormPage) screens.StartQuery {
		switch {
		case sheet.copied != "":
			sheet.form, sheet.copy = copyJob(page.Job, web.Now(page.Fleet))
		case sheet.chooseRepo:
			sheet.form.repo = likelyRepo(page.Fleet)
		}
		return sheet.form.start()
	})
	if err != nil {
		return err
	}
	sheet.snap, sheet.products, sheet.phases, sheet.start = around.Fleet, around.Products, around.Phases, around.Start
	shell, err := p.Web.Page(c, who, around.Fleet, layout.SectionNewJob, "New job")
	if err != nil {
		return err
	}
	return web.Render(c, status, view.View(view.Page{Shell: shell, Form: sheet.model()}))
}

// start asks what stands before the job.
func (f jobForm) start() screens.StartQuery {
	query := screens.StartQuery{Needs: f.needs(), Product: f.product, Phase: f.phase, Priority: jobs.DefaultPriority,
		DependsOn: f.dependsOn[:min(len(f.dependsOn), jobs.MaxDependencies)]}
	if priority := web.NumberChoice("priority", f.priority, 0, jobs.MaxPriority, map[string]string{}); priority != nil {
		query.Priority = *priority
	}
	query.Ask = estimates.Ask{Repo: f.repo, Priority: query.Priority, Wanted: estimates.Tier(f.tier)}
	if step := web.NumberChoice("complexity", f.complexity, jobs.MinComplexity, jobs.MaxComplexityStep, map[string]string{}); step != nil {
		query.Ask.Complexity = *step
	}
	minutes := web.NumberChoice("estimated_minutes", f.estimate, jobs.MinEstimate, jobs.MaxEstimate, map[string]string{})
	if minutes != nil {
		query.Ask.Minutes = *minutes
	}
	return query
}

// startQuery asks what stands before a job that is there already.
func (f jobForm) startQuery(j jobs.Job) screens.StartQuery {
	query := f.start()
	query.Product, query.Job, query.Ask.Kind = j.Product, j.ID, j.Kind
	return query
}

// routability is the preview for the form as it is now: where it can run, when it starts
// and what it is expected to cost.
func (p *Pages) routability(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	sheet := pageData{form: parseForm(c.QueryParams()), retry: c.QueryParam("then") == retryNext}
	query := sheet.form.start()
	var err error
	if key := c.QueryParam("job"); key != "" {
		if sheet.job, err = p.Jobs.Get(ctx, who, key); err != nil {
			return err
		}
		query = sheet.form.startQuery(sheet.job)
	}
	if sheet.snap, err = p.Screens.Fleet(ctx, who); err != nil {
		return err
	}
	if sheet.start, err = p.Screens.Start(ctx, who, sheet.snap, query); err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.RoutabilityAnswer(sheet.routability()))
}

// preview is the description as the job's page will show it.
func (p *Pages) preview(c echo.Context, _ tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.MarkdownPreview(ui.Markdown(in.Get("body"))))
}

// search finds jobs to depend on.
func (p *Pages) search(c echo.Context, who tenancy.Principal) error {
	query := web.SearchText(c.QueryParam("q"))
	m := view.JobOptions{Query: query}
	if query != "" {
		found, err := p.Jobs.Search(c.Request().Context(), who, query, web.MaxFound)
		if err != nil {
			return err
		}
		for _, j := range found {
			if !j.Status.Finished() {
				m.Jobs = append(m.Jobs, dependencyModel(j))
			}
		}
	}
	return web.Render(c, http.StatusOK, view.DependencyOptions(m))
}

// describeStart says in one sentence whether and where a job can start.
func (p *Pages) describeStart(ctx context.Context, who tenancy.Principal, j jobs.Job) (ui.Toast, error) {
	why, err := p.Screens.Explain(ctx, who, j.ID.String())
	if err != nil {
		return ui.Toast{}, err
	}
	t := ui.Toast{Tone: ui.OK}
	for i, r := range why.Reasons {
		if i > 0 {
			t.Text += " "
		}
		t.Text += reason.Text(j, r, web.Now(fleet.Snapshot{})).String() + "."
	}
	if j.Status == jobs.Ready && len(why.Routing.Eligible) > 0 && !j.ProductPaused {
		start, err := p.Screens.Start(ctx, who, routedFactories(why.Routing), screens.StartQuery{
			Needs:   fleet.Needs{Repo: j.Repo, Capabilities: j.Capabilities, Factory: j.Factory},
			Product: j.Product, Phase: j.Phase, Priority: j.Priority, Job: j.ID, Ask: screens.EstimateAsk(j)})
		if err != nil {
			return ui.Toast{}, err
		}
		if start.Ahead > 0 {
			t.Text += " " + aheadText(start)
		}
	}
	if j.Status == jobs.Ready && len(why.Routing.Eligible) == 0 {
		t.Tone = ui.Warn
	}
	return t, nil
}

// routedFactories are the factories that can run a job.
func routedFactories(r fleet.Routing) fleet.Snapshot {
	var snap fleet.Snapshot
	for _, fit := range r.Eligible {
		snap.Factories = append(snap.Factories, fit.Factory)
	}
	return snap
}
