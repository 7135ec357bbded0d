package worker

import (
	"fmt"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// mostNamed is how many repositories are named when the worker starts.
const mostNamed = 20

// announce says what the worker offers now that it is registered, and what it lacks.
func (w *Worker) announce() {
	offer, _ := w.offer.describe()
	w.Log.Info("registered", "server", w.Server, "agent", w.Name, "factory", w.Factory, "seats", w.Seats, "engines", *offer.Engines)
	if said := w.offersNothing(offer); said != "" {
		w.Log.Warn(said)
		return
	}
	w.Log.Info("offers " + listRepos(*offer.Repos) + " to " + strings.Join(*offer.Engines, ", ") + "; waits for jobs")
}

// offersNothing says that there is no repository, and what to do; "" where there are some.
func (w *Worker) offersNothing(offer api.FactoryInfo) string {
	if offer.Repos != nil && len(*offer.Repos) > 0 {
		return ""
	}
	if len(w.Repos.Clone) > 0 {
		return "offers no repository yet: those of the server's products that --clone reaches are looked for now"
	}
	return fmt.Sprintf("offers no repository, so no job that names one comes here: there is no git repository in %s. "+
		"It looks again every %s", w.Repos.Dir, describeEvery.Round(time.Second))
}

// listRepos lists the names of repositories, shortened where they are many.
func listRepos(all []api.Repo) string {
	names := make([]string, 0, mostNamed)
	for _, r := range all[:min(len(all), mostNamed)] {
		names = append(names, r.Name)
	}
	word, more := "the repositories ", ""
	if len(all) == 1 {
		word = "the repository "
	}
	if n := len(all) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return word + strings.Join(names, ", ") + more
}
