package palette

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/palette"
	"github.com/fleetboard/fleetboard/views/ui"
)

// show answers with the answer to a search in the command palette.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	query := web.SearchText(c.QueryParam("q"))
	found, err := p.Jobs.Search(ctx, who, query, web.MaxFound)
	if err != nil {
		return err
	}
	found, said, err := p.words(ctx, who, query, found)
	if err != nil {
		return err
	}
	logs, err := p.logs(ctx, who, query)
	if err != nil {
		return err
	}
	snap, err := p.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	page := web.CurrentPath(c.Request())
	key, rest := atHand(query, page, c.QueryParam("chosen"))
	actions, err := p.actionRows(ctx, who, key, rest)
	if err != nil {
		return err
	}
	actions = append(actions, themeRows(query, page)...)
	// What is to be done comes first, unless only a job is named.
	m := paletteModel(query, found, actions, said, logs, snap, who)
	if at := slices.IndexFunc(m.Groups, func(g view.Group) bool { return g.Title == "Do" }); at > 0 && rest != "" {
		m.Groups = slices.Insert(slices.Delete(m.Groups, at, at+1), 0, view.Group{Title: "Do", Rows: actions})
	}
	return web.Render(c, http.StatusOK, view.Rows(m))
}

// paletteModel lists jobs, factories and pages. Without a query the pages come
// first; they are what an empty palette is opened for.
func paletteModel(query string, found []jobs.Job, actions, said, logs []view.Row, snap fleet.Snapshot, who tenancy.Principal) view.Results {
	var list []view.Group
	add := func(title string, rows []view.Row) {
		if len(rows) > 0 {
			list = append(list, view.Group{Title: title, Rows: rows})
		}
	}
	pages := pageRows(query, who)
	if query == "" {
		add("Go to", pages)
		add("This job", actions)
		add("Newest jobs", jobRows(found))
	} else {
		add("Jobs", jobRows(found))
		add("Do", actions)
		add("Messages", said)
		add("Logs", logs)
		add("Agents", agentRows(query, snap))
		add("Factories", factoryRows(query, snap))
		add("Go to", pages)
	}
	return view.Results{Query: query, Groups: list}
}

func jobRows(found []jobs.Job) []view.Row {
	rows := make([]view.Row, len(found))
	for i, j := range found {
		rows[i] = view.Row{URL: links.Job(j.Key), Status: jobparts.ShownStatus(j), Percent: web.Percent(j.ProgressPercent),
			Key: j.Key, Text: j.Title, Note: jobparts.Place(j)}
		if j.Lease != nil {
			rows[i].Note = ui.AgentPlace(j.Lease.Agent, j.Lease.Factory)
		}
	}
	return rows
}

func factoryRows(query string, snap fleet.Snapshot) []view.Row {
	var rows []view.Row
	for _, f := range snap.Factories {
		if len(rows) < web.MaxFound && contains(f.Name, query) {
			rows = append(rows, view.Row{URL: links.FactoryPlace(ui.FactoryID(f.Name)), Icon: "server",
				Text: f.Name, Note: web.FleetRow(f).Text})
		}
	}
	return rows
}

func agentRows(query string, snap fleet.Snapshot) []view.Row {
	var rows []view.Row
	for _, f := range snap.Factories {
		for _, a := range f.Agents {
			if len(rows) < web.MaxFound && contains(a.Name, query) {
				rows = append(rows, view.Row{URL: links.FactoryPlace(ui.AgentID(f.Name, a.Name)), Icon: "bot", Text: a.Name, Note: f.Name})
			}
		}
	}
	return rows
}

// palettePages are the pages that the palette goes to. Those of the settings come
// last: without a query only the first of them shows.
var palettePages = []struct {
	view.Row
	need     tenancy.Permission
	settings bool
}{
	{view.Row{URL: links.Board, Icon: "square-kanban", Text: "Board", Keys: []string{"G", "B"}}, tenancy.ReadBoard, false},
	{view.Row{URL: links.NewJob, Icon: "plus", Text: "New job", Keys: []string{"C"}}, tenancy.WriteJobs, false},
	{view.Row{URL: links.NeedsYou, Icon: "bell", Text: "Needs you", Keys: []string{"G", "N"}}, tenancy.ReadBoard, false},
	{view.Row{URL: links.Review, Icon: "eye", Text: "Review", Keys: []string{"G", "R"}}, tenancy.ReadBoard, false},
	{view.Row{URL: links.Agents, Icon: "bot", Text: "Agents", Keys: []string{"G", "A"}}, tenancy.ReadBoard, false},
	{view.Row{URL: links.Pools, Icon: "server", Text: "Pools of factories"}, tenancy.ReadBoard, false},
	{view.Row{URL: links.Stop, Icon: "circle-stop", Text: "Stop the fleet, release it"}, tenancy.Manage, false},
	{view.Row{URL: links.Budgets, Icon: "wallet", Text: "Budgets"}, tenancy.ReadBoard, false},
	{view.Row{URL: links.Usage, Icon: "wallet", Text: "Usage"}, tenancy.ReadBoard, false},
	{view.Row{URL: links.Prices, Icon: "wallet", Text: "Prices"}, tenancy.ReadBoard, false},
	{view.Row{URL: links.Timeline, Icon: "history", Text: "Timeline", Keys: []string{"G", "T"}}, tenancy.ReadBoard, false},
	{view.Row{URL: links.Messages, Icon: "messages-square", Text: "Messages", Keys: []string{"G", "M"}}, tenancy.ReadBoard, false},
	{view.Row{URL: links.Status, Icon: "gauge", Text: "Status"}, tenancy.ReadBoard, false},
	{view.Row{URL: links.Settings, Icon: "settings", Text: "Settings", Keys: []string{"G", "S"}}, tenancy.SignedIn, false},
	{view.Row{URL: links.Account, Icon: "user", Text: "Your account", Note: "Settings"}, tenancy.SignedIn, true},
	{view.Row{URL: links.Workspace, Icon: "settings", Text: "Workspace", Note: "Settings"}, tenancy.ReadBoard, true},
	{view.Row{URL: links.Members, Icon: "users", Text: "Members", Note: "Settings"}, tenancy.ReadBoard, true},
	{view.Row{URL: links.Products, Icon: "package", Text: "Products and repos", Note: "Settings"}, tenancy.ReadBoard, true},
	{view.Row{URL: links.Dispatch, Icon: "gauge", Text: "Dispatch", Note: "Settings"}, tenancy.Manage, true},
	{view.Row{URL: links.Tokens, Icon: "key-round", Text: "Tokens", Note: "Settings"}, tenancy.SignedIn, true},
	{view.Row{URL: links.Connect, Icon: "terminal", Text: "Connect an agent", Note: "Settings"}, tenancy.ReadBoard, true},
	{view.Row{URL: links.Secrets, Icon: "lock", Text: "Encryption", Note: "Settings"}, tenancy.Manage, true},
	{view.Row{URL: links.Audit, Icon: "scroll-text", Text: "Audit", Note: "Settings"}, tenancy.Manage, true},
}

func pageRows(query string, who tenancy.Principal) []view.Row {
	var rows []view.Row
	for _, p := range palettePages {
		if who.Can(p.need) && contains(p.Text, query) && (query != "" || !p.settings) {
			rows = append(rows, p.Row)
		}
	}
	if query != "" && who.Can(tenancy.WriteJobs) {
		rows = append(rows, view.Row{URL: links.NewJobNamed(query), Icon: "plus", Text: "New job named “" + query + "”"})
	}
	if query != "" {
		rows = append(rows, view.Row{URL: links.SearchFor("", links.SearchFilter{Query: query}), Icon: "search",
			Text: "Search jobs and messages for “" + query + "”"})
		rows = append(rows, view.Row{URL: links.BoardWith(links.Filter{Query: query}), Icon: "search",
			Text: "Search the board for “" + query + "”"})
	}
	return rows
}

func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
