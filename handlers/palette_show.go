package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// maxFound is how many jobs a search shows.
const maxFound = 8

// paletteShow is the answer to a search in the command palette.
func (s *Server) paletteShow(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	query := searchText(c.QueryParam("q"))
	found, err := s.Jobs.Search(ctx, who, query, maxFound)
	if err != nil {
		return err
	}
	snap, err := s.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.PaletteRows(paletteModel(query, found, snap, who.Can(tenancy.WriteJobs))))
}

// searchText is a query that can be searched for.
func searchText(q string) string {
	q = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(q, "\x00", ""), ""))
	if len(q) > maxFilter {
		return strings.ToValidUTF8(q[:maxFilter], "")
	}
	return q
}

// paletteModel lists jobs, factories and pages. Without a query the pages come
// first; they are what an empty palette is opened for.
func paletteModel(query string, found []jobs.Job, snap fleet.Snapshot, canWrite bool) views.Palette {
	var list []views.PaletteGroup
	add := func(title string, rows []views.PaletteRow) {
		if len(rows) > 0 {
			list = append(list, views.PaletteGroup{Title: title, Rows: rows})
		}
	}
	pages := pageRows(query, canWrite)
	if query == "" {
		add("Go to", pages)
		add("Newest jobs", jobRows(found))
	} else {
		add("Jobs", jobRows(found))
		add("Factories", factoryRows(query, snap))
		add("Go to", pages)
	}
	return views.Palette{Query: query, Groups: list}
}

func jobRows(found []jobs.Job) []views.PaletteRow {
	rows := make([]views.PaletteRow, len(found))
	for i, j := range found {
		rows[i] = views.PaletteRow{URL: links.Job(j.Key), Status: ui.Status(j.Status), Percent: percent(j.ProgressPercent),
			Key: j.Key, Text: j.Title, Note: placeOf(j)}
		if j.Lease != nil {
			rows[i].Note = j.Lease.Agent + " · " + j.Lease.Factory
		}
	}
	return rows
}

func factoryRows(query string, snap fleet.Snapshot) []views.PaletteRow {
	var rows []views.PaletteRow
	for _, f := range snap.Factories {
		if len(rows) < maxFound && contains(f.Name, query) {
			rows = append(rows, views.PaletteRow{URL: links.AgentsOf(views.FactoryID(f.Name)), Icon: "server", Text: f.Name, Note: fleetRow(f).Text})
		}
	}
	return rows
}

func pageRows(query string, canWrite bool) []views.PaletteRow {
	all := []views.PaletteRow{
		{URL: links.Board, Icon: "square-kanban", Text: "Board", Keys: []string{"G", "B"}},
		{URL: links.NewJob, Icon: "plus", Text: "New job", Keys: []string{"C"}},
		{URL: links.Review, Icon: "eye", Text: "Review", Keys: []string{"G", "R"}},
		{URL: links.Agents, Icon: "bot", Text: "Agents", Keys: []string{"G", "A"}},
		{URL: links.Timeline, Icon: "history", Text: "Timeline", Keys: []string{"G", "T"}},
		{URL: links.Products, Icon: "package", Text: "Products"},
		{URL: links.Status, Icon: "gauge", Text: "Status"},
	}
	var rows []views.PaletteRow
	for _, r := range all {
		if (r.URL != links.NewJob || canWrite) && contains(r.Text, query) {
			rows = append(rows, r)
		}
	}
	if query != "" {
		rows = append(rows, views.PaletteRow{URL: links.BoardWith(links.Filter{Query: query}), Icon: "search", Text: "Search the board for “" + query + "”"})
	}
	return rows
}

func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
