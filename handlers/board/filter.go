package board

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/screens"
	view "github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// groups are the ways to group cards inside the columns, the plain one first.
var groups = []string{"status", "phase", "product", "repo", "factory"}

// priorities are the choices of the priority filter.
var priorities = []int{3, 5, 8}

// parseFilter reads the board's query. What makes no sense narrows nothing.
func parseFilter(q url.Values) links.Filter {
	value := func(name string) string { return web.FilterValue(q, name) }
	f := links.Filter{
		Product: value("product"), Repo: value("repo"), Factory: value("factory"), Phase: value("phase"),
		Query: value("q"), Unroutable: value("show") == "unroutable",
	}
	if g := value("group"); slices.Contains(groups[1:], g) {
		f.Group = g
	}
	if p, err := strconv.Atoi(value("priority")); err == nil && p >= 0 && p <= 10 {
		f.Priority = &p
	}
	return f
}

// narrowed returns the filter as the board's reader takes it.
func narrowed(f links.Filter) screens.Filter {
	return screens.Filter{Product: f.Product, Repo: f.Repo, Factory: f.Factory, Phase: f.Phase, Query: f.Query,
		PriorityGTE: f.Priority, Unroutable: f.Unroutable}
}

// filterMenus returns the menus of links above the board.
func filterMenus(b screens.Board, f links.Filter) []view.FilterMenu {
	var factories []string
	for _, one := range b.Fleet.Factories {
		factories = append(factories, one.Name)
	}
	menu := func(id, label, chosen string, values []string, set func(*links.Filter, string)) view.FilterMenu {
		m := view.FilterMenu{ID: id, Label: label}
		if chosen != "" && !slices.Contains(values, chosen) {
			values = append(slices.Clone(values), chosen)
		}
		for i, v := range append([]string{""}, values...) {
			to := f
			set(&to, v)
			name := v
			if i == 0 {
				name = "All"
			}
			m.Options = append(m.Options, ui.FilterOption{Label: name, URL: links.BoardWith(to), Selected: v == chosen})
		}
		return m
	}
	return []view.FilterMenu{
		menu("product", "Product", f.Product, b.Products, func(f *links.Filter, v string) { f.Product = v }),
		menu("repo", "Repo", f.Repo, b.Repos, func(f *links.Filter, v string) { f.Repo = v }),
		menu("factory", "Factory", f.Factory, factories, func(f *links.Filter, v string) { f.Factory = v }),
		menu("phase", "Phase", f.Phase, b.Phases, func(f *links.Filter, v string) { f.Phase = v }),
		priorityMenu(f),
	}
}

func priorityMenu(f links.Filter) view.FilterMenu {
	any := f
	any.Priority = nil
	m := view.FilterMenu{ID: "priority", Label: "Priority",
		Options: []ui.FilterOption{{Label: "All", URL: links.BoardWith(any), Selected: f.Priority == nil}}}
	for _, p := range priorities {
		to := f
		to.Priority = &p
		m.Options = append(m.Options, ui.FilterOption{Label: strconv.Itoa(p) + " or more", URL: links.BoardWith(to),
			Selected: f.Priority != nil && *f.Priority == p})
	}
	return m
}

func groupMenu(f links.Filter) view.FilterMenu {
	chosen := groups[0]
	if f.Group != "" {
		chosen = f.Group
	}
	m := view.FilterMenu{ID: "group", Label: "Group: " + chosen}
	for _, g := range groups {
		to := f
		to.Group = g
		m.Options = append(m.Options, ui.FilterOption{Label: strings.ToUpper(g[:1]) + g[1:],
			URL: links.BoardWith(to), Selected: g == chosen})
	}
	return m
}

// activeFilters returns the filters that are on, each with the way out of it.
func activeFilters(f links.Filter) []ui.ActiveFilter {
	var list []ui.ActiveFilter
	add := func(on bool, text string, without func(*links.Filter)) {
		if on {
			to := f
			without(&to)
			list = append(list, ui.ActiveFilter{Text: text, RemoveURL: links.BoardWith(to)})
		}
	}
	add(f.Product != "", "Product "+f.Product, func(f *links.Filter) { f.Product = "" })
	add(f.Repo != "", "Repo "+f.Repo, func(f *links.Filter) { f.Repo = "" })
	add(f.Factory != "", "Factory "+f.Factory, func(f *links.Filter) { f.Factory = "" })
	add(f.Phase != "", "Phase "+f.Phase, func(f *links.Filter) { f.Phase = "" })
	if f.Priority != nil {
		add(true, "Priority "+strconv.Itoa(*f.Priority)+" or more", func(f *links.Filter) { f.Priority = nil })
	}
	add(f.Query != "", "“"+f.Query+"”", func(f *links.Filter) { f.Query = "" })
	add(f.Unroutable, "Cannot run now", func(f *links.Filter) { f.Unroutable = false })
	return list
}

// searchField keeps the other filters in hidden fields.
func searchField(f links.Filter) view.Search {
	m := view.Search{Query: f.Query}
	rest := f
	rest.Query = ""
	u, err := url.Parse(links.BoardWith(rest))
	if err != nil {
		return m // our own links parse
	}
	q := u.Query()
	for _, name := range []string{"product", "repo", "factory", "phase", "priority", "group", "show"} {
		if v := q.Get(name); v != "" {
			m.Keep = append(m.Keep, view.Field{Name: name, Value: v})
		}
	}
	return m
}

// noMatch names the filters that hide every job.
func noMatch(f links.Filter) *ui.Empty {
	active := activeFilters(f)
	names := make([]string, len(active))
	for i, a := range active {
		names[i] = a.Text
	}
	e := &ui.Empty{Title: "No job matches", Text: "Filters that are on: " + web.JoinAnd(names) + ".",
		ActionLabel: "Clear all filters", ActionURL: links.BoardWith(links.Filter{Group: f.Group})}
	if len(active) == 1 {
		e.Text, e.ActionLabel = "One filter is on: "+names[0]+".", "Remove it"
	}
	return e
}
