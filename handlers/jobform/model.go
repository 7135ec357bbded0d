package jobform

import (
	"maps"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/natural"
	"github.com/fleetboard/fleetboard/internal/screens"
	view "github.com/fleetboard/fleetboard/views/jobform"
	"github.com/fleetboard/fleetboard/views/ui"
)

// pageData is what the page of the form is made of.
type pageData struct {
	form     ui.Form
	key      string // that makes a form that is sent twice one job
	snap     fleet.Snapshot
	products []string
	phases   []string
	start    screens.Start // what stands before the job
	blank    bool          // nothing was typed or prefilled

	job   jobs.Job // that the form changes; the zero value for a new one
	retry bool     // it is retried with the changes

	copied string // the job that is copied, by key or id; "" for none
	copy   view.Copy

	chooseRepo bool // the most likely repo is to be chosen
}

func (s pageData) model() view.Form {
	f := s.form
	m := view.Form{IdempotencyKey: s.key, Blank: s.blank, Repo: s.repos(), Factory: s.factories(), Engines: s.engines(),
		DependsOn: s.dependencies(), Products: productOptions(s.products, f.Text("product")), Phases: s.phases, Copy: s.copy,
		SecretsGone: f.Text("secrets") != "", Routability: s.routability(), NoFleet: len(web.LiveFactories(s.snap)) == 0}
	m.Capabilities, m.Offered = s.capabilities()
	f.Typed = maps.Clone(f.Typed)
	f.Typed.Del("secrets") // they are never sent back
	m.Form = f
	return m
}

// options returns the first one, the live values in order, and the chosen one where
// it is not among them, marked.
func options(none string, values []string, chosen string) []ui.Option {
	list := []ui.Option{{Label: none, Selected: chosen == ""}}
	natural.Sort(values)
	for _, v := range slices.Compact(values) {
		list = append(list, ui.Option{Value: v, Label: v, Selected: v == chosen})
	}
	if chosen != "" && !slices.Contains(values, chosen) {
		list = append(list, ui.Option{Value: chosen, Label: chosen, Selected: true, Offline: true})
	}
	return list
}

func (s pageData) repos() []ui.Option {
	return options("No repo", repoNames(s.snap), s.form.Text("repo"))
}

// repoNames returns the repos that live factories hold.
func repoNames(snap fleet.Snapshot) []string {
	var names []string
	for _, f := range web.LiveFactories(snap) {
		for _, r := range f.Repos {
			names = append(names, r.Name)
		}
	}
	natural.Sort(names)
	return slices.Compact(names)
}

// likelyRepo returns the demo repository, or the only one that live factories hold; "" where
// there is a choice.
func likelyRepo(snap fleet.Snapshot) string {
	names := repoNames(snap)
	for _, demo := range []string{ui.DemoRepo, "demo"} {
		if slices.Contains(names, demo) {
			return demo
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return ""
}

func (s pageData) factories() []ui.Option {
	var names []string
	for _, f := range web.LiveFactories(s.snap) {
		names = append(names, f.Name)
	}
	return options("Any live factory", names, s.form.Text("factory"))
}

func productOptions(names []string, chosen string) []ui.Option {
	list := options("As the repo says", slices.Clone(names), chosen)
	for i := range list {
		list[i].Offline = false // a product is never live
	}
	return list
}

func (s pageData) engines() []view.EngineOption {
	chosen := s.form.Text("engine")
	list := []view.EngineOption{{Label: "Any engine", Note: "the first free seat", Selected: chosen == ""}}
	var names []string
	for _, f := range web.LiveFactories(s.snap) {
		names = append(names, f.Engines...)
	}
	natural.Sort(names)
	for _, name := range slices.Compact(names) {
		list = append(list, view.EngineOption{Value: name, Label: name, Note: engineNote(s.snap, name), Selected: name == chosen})
	}
	if chosen != "" && !slices.Contains(names, chosen) {
		list = append(list, view.EngineOption{Value: chosen, Label: chosen, Note: "none live",
			Selected: true, Offline: true})
	}
	return list
}

// engineNote is "2 factories, 2 seats free".
func engineNote(snap fleet.Snapshot, engine string) string {
	factories, seats := 0, 0
	for _, f := range web.LiveFactories(snap) {
		if slices.Contains(f.Engines, engine) {
			factories++
			seats += f.Free()
		}
	}
	return web.Plural(factories, "factory", "factories") + ", " + web.Plural(seats, "seat", "seats") + " free"
}

// capabilities returns the chosen tokens, and those that live factories offer
// besides. Engines and repos have fields of their own.
func (s pageData) capabilities() (chosen []view.Token, offered []string) {
	var all []string
	for _, f := range web.LiveFactories(s.snap) {
		all = append(all, f.Offers()...)
		for _, a := range f.Agents {
			if a.TakesJobs() {
				all = append(all, a.Capabilities...)
			}
		}
	}
	natural.Sort(all)
	all = slices.Compact(all)
	typed := s.form.Typed["capabilities"]
	for _, token := range typed {
		chosen = append(chosen, view.Token{Value: token, Offline: !slices.Contains(all, token)})
	}
	offered = slices.DeleteFunc(all, func(token string) bool {
		return strings.HasPrefix(token, enginePrefix) || strings.HasPrefix(token, "repo:") || slices.Contains(typed, token)
	})
	return chosen, offered
}

// dependencies returns the chosen jobs; a key that names none is shown all the same,
// beside the error.
func (s pageData) dependencies() []view.Dependency {
	var list []view.Dependency
	for _, key := range s.form.Typed["depends_on"] {
		at := slices.IndexFunc(s.start.Depends, func(j jobs.Job) bool { return j.Key == key })
		if at < 0 {
			list = append(list, view.Dependency{Key: key, Title: "not found", Status: jobs.Archived, Percent: -1})
			continue
		}
		list = append(list, dependencyModel(s.start.Depends[at]))
	}
	return list
}

func dependencyModel(j jobs.Job) view.Dependency {
	return view.Dependency{Key: j.Key, Title: j.Title, Status: j.Status, Percent: web.Percent(j.ProgressPercent)}
}
