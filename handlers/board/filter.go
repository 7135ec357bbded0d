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

// parseFilter reads the board's query. What makes no sense narrows nothing. Validation for more
// values than a filter takes.
func parseFilter(q url.Values) (f links.Filter, err error) {
	for _, name := range links.FilterLists {
		if *f.List(name), err = web.FilterValues(q, name); err != nil {
			return f, err
		}
	}
	value := func(name string) string { return web.FilterValue(q, name) }
	f.Query, f.Unroutable = value("q"), value("show") == "unroutable"
	if g := value("group"); slices.Contains(groups[1:], g) {
		f.Group = g
	}
	if p, err := strconv.Atoi(value("priority")); err == nil && p >= 0 && p <= 10 {
		f.Priority = &p
	}
	return f, nil
}

// narrowed returns the filter as the board's reader takes it.
func narrowed(f links.Filter) screens.Filter {
	return screens.Filter{Products: f.Products, Repos: f.Repos, Factories: f.Factories, Phases: f.Phases, Query: f.Query,
		PriorityGTE: f.Priority, Unroutable: f.Unroutable}
}

// filterLabels are the filters that take several values, in words.
var filterLabels = map[string]string{"product": "Product", "repo": "Repo", "factory": "Factory", "phase": "Phase"}

// filterMenus returns the menus of links above the board.
func filterMenus(b screens.Board, f links.Filter) []ui.FilterMenu {
	var factories []string
	for _, one := range b.Fleet.Factories {
		factories = append(factories, one.Name)
	}
	values := map[string][]string{"product": b.Products, "repo": b.Repos, "factory": factories, "phase": b.Phases}
	var list []ui.FilterMenu
	for _, name := range links.FilterLists {
		m := ui.FilterMenu{ID: name, Label: filterLabels[name]}
		if chosen := *f.List(name); len(values[name])+len(chosen) > 0 {
			any := f
			*any.List(name) = nil
			m.Options = append(m.Options, ui.FilterOption{Label: "All", URL: links.BoardWith(any), Selected: len(chosen) == 0})
			for _, v := range values[name] {
				m.Options = append(m.Options, ui.FilterOption{Label: v, URL: toggled(f, name, v), Selected: slices.Contains(chosen, v)})
			}
		}
		list = append(list, m)
	}
	return append(list, priorityMenu(f))
}

// toggled returns the board with one more value of a filter, or one less.
func toggled(f links.Filter, name, value string) string {
	list := f.List(name)
	*list = links.Toggle(*list, value)
	return links.BoardWith(f)
}

func priorityMenu(f links.Filter) ui.FilterMenu {
	any := f
	any.Priority = nil
	m := ui.FilterMenu{ID: "priority", Label: "Priority",
		Options: []ui.FilterOption{{Label: "All", URL: links.BoardWith(any), Selected: f.Priority == nil}}}
	for _, p := range priorities {
		to := f
		to.Priority = &p
		m.Options = append(m.Options, ui.FilterOption{Label: strconv.Itoa(p) + " or more", URL: links.BoardWith(to),
			Selected: f.Priority != nil && *f.Priority == p})
	}
	return m
}

func groupMenu(f links.Filter) ui.FilterMenu {
	chosen := groups[0]
	if f.Group != "" {
		chosen = f.Group
	}
	m := ui.FilterMenu{ID: "group", Label: "Group: " + chosen}
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
	for _, name := range links.FilterLists {
		for _, v := range *f.List(name) {
			list = append(list, ui.ActiveFilter{Text: filterLabels[name] + " " + v, RemoveURL: toggled(f, name, v)})
		}
	}
	if f.Priority != nil {
		add(true, "Priority "+strconv.Itoa(*f.Priority)+" or more", func(f *links.Filter) { f.Priority = nil })
	}
	add(f.Query != "", "“"+f.Query+"”", func(f *links.Filter) { f.Query = "" })
	add(f.Unroutable, "Cannot run now", func(f *links.Filter) { f.Unroutable = false })
	return list
}

// searchField keeps the other filters in hidden fields.
func searchField(f links.Filter) view.Search {
	return view.Search{Query: f.Query, Keep: web.KeepFields(links.BoardWith(f), "q")}
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
