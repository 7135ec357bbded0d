package jobform

import (
	"cmp"
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/jobform"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// show answers with the empty form. What an address says beforehand (repo, title)
// is filled in; ?from=FB-12 fills in what that job is.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	if key := c.QueryParam("from"); key != "" {
		return p.newJobPage(c, who, http.StatusOK, pageData{copied: key})
	}
	priority, retries := jobs.DefaultPriority, jobs.DefaultMaxRetries
	f, asked := fields.Fill(jobs.New{Priority: &priority, MaxRetries: &retries}), fields.Read(c.QueryParams())
	for _, name := range []string{"title", "repo", "factory", "engine", "capabilities", "depends_on", "product", "phase"} {
		f.Typed[name] = asked.Typed[name]
	}
	// Whoever chose a certain host or product wants no repo that others hold.
	n := draft(f)
	free := n.Repo == "" && n.Factory == "" && n.Product == "" && len(n.Capabilities) == 0
	return p.newJobPage(c, who, http.StatusOK, pageData{form: f, blank: c.QueryString() == "", chooseRepo: free})
}

// showDraft answers with the form as it was typed before, which the browser has kept.
func (p *Pages) showDraft(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	return p.newJobPage(c, who, http.StatusOK, pageData{form: fields.Read(in), key: in.Get("idempotency_key")})
}

// newJobPage shows the form with the present fleet around it.
func (p *Pages) newJobPage(c echo.Context, who tenancy.Principal, status int, sheet pageData) error {
	ctx := c.Request().Context()
	around, err := p.Screens.FormPage(ctx, who, screens.FormQuery{Job: sheet.copied}, func(page screens.FormPage) screens.StartQuery {
		switch {
		case sheet.copied != "":
			sheet.form, sheet.copy = copyJob(page.Job, web.Now(page.Fleet))
		case sheet.chooseRepo:
			sheet.form.Typed.Set("repo", likelyRepo(page.Fleet))
		}
		return startQuery(draft(sheet.form))
	})
	if err != nil {
		return err
	}
	sheet.key = cmp.Or(sheet.key, ids.New().String())
	sheet.snap, sheet.products, sheet.phases, sheet.start = around.Fleet, around.Products, around.Phases, around.Start
	shell, err := p.Page(c, who, around.Fleet, layout.SectionNewJob, "New job")
	if err != nil {
		return err
	}
	return web.Render(c, status, view.View(view.Page{Shell: shell, Form: sheet.model()}))
}

// startQuery is the query for what stands before the job that a form describes.
func startQuery(n jobs.New) screens.StartQuery {
	s := n.WithDefaults()
	query := screens.StartQuery{Needs: fleetNeeds(n), Product: n.Product, Phase: s.Phase, Priority: s.Priority,
		DependsOn: s.DependsOn[:min(len(s.DependsOn), jobs.MaxDependencies)],
		Ask:       estimates.Ask{Repo: s.Repo, Priority: s.Priority, Wanted: estimates.Tier(s.Tier)}}
	if s.Complexity != nil {
		query.Ask.Complexity = *s.Complexity
	}
	if s.EstimatedMinutes != nil {
		query.Ask.Minutes = *s.EstimatedMinutes
	}
	return query
}

// editQuery is the query for what stands before a job that is there already.
func editQuery(n jobs.New, j jobs.Job) screens.StartQuery {
	query := startQuery(n)
	query.Product, query.Job, query.Ask.Kind = j.Product, j.ID, j.Kind
	return query
}

// fleetNeeds returns what the routability preview queries the fleet with.
func fleetNeeds(n jobs.New) fleet.Needs {
	return fleet.Needs{Repo: n.Repo, Capabilities: n.Capabilities, Factory: n.Factory}
}

// routability answers with the preview for the form as it is now: where it can run, when it starts
// and what it is expected to cost.
func (p *Pages) routability(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	sheet := pageData{form: fields.Read(c.QueryParams()), retry: c.QueryParam("then") == retryNext}
	query := startQuery(draft(sheet.form))
	var err error
	if key := c.QueryParam("job"); key != "" {
		if sheet.job, err = p.Jobs.Get(ctx, who, key); err != nil {
			return err
		}
		query = editQuery(draft(sheet.form), sheet.job)
	}
	if sheet.snap, err = p.Screens.Fleet(ctx, who); err != nil {
		return err
	}
	if sheet.start, err = p.Screens.Start(ctx, who, sheet.snap, query); err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.RoutabilityAnswer(sheet.routability()))
}

// preview answers with the description as the job's page will show it.
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

// routedFactories returns the factories that can run a job.
func routedFactories(r fleet.Routing) fleet.Snapshot {
	var snap fleet.Snapshot
	for _, fit := range r.Eligible {
		snap.Factories = append(snap.Factories, fit.Factory)
	}
	return snap
}
