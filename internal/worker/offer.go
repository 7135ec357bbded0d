package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"fleetboard/handlers/api/apiclient"
	"fleetboard/internal/engines"
	"fleetboard/internal/redact"
	"fleetboard/internal/signal"
	"fleetboard/internal/worker/breaker"
	"fleetboard/internal/worker/probe"
	"fleetboard/internal/worker/repos"
)

const (
	// describeEvery is how often the worker looks for new repositories below its directory,
	// and reachEvery for those of products that it could clone.
	describeEvery = 30 * time.Second
	reachEvery    = 5 * time.Minute
	// probeFor is how long an engine may take to say its version.
	probeFor = 20 * time.Second
	// maxUnavailable, maxRescued and maxPath are the API's limits.
	maxUnavailable = 100
	maxRescued     = 50
	maxPath        = 1000
)

// found is what was found on the host when it was looked at last.
type found struct {
	repos    []repos.Repo
	unread   []repos.Unreadable
	versions map[string][]string // the capabilities of engines
}

// engine and repo are parts of what is offered.
func engine(name string) breaker.Part {
	return breaker.Part{Kind: string(apiclient.UnavailableEngine), Name: name}
}

func repo(name string) breaker.Part {
	return breaker.Part{Kind: string(apiclient.UnavailableRepo), Name: name}
}

// descriptions keep up to date what heartbeats say that the host offers, until ctx ends.
func (w *Worker) descriptions(ctx context.Context) {
	var reached time.Duration
	for {
		if now := sinceBoot(); len(w.Repos.Clone) > 0 && (reached == 0 || now-reached > reachEvery) {
			reached = now
			w.Repos.Reach(ctx, w.namesOfProducts(ctx))
		}
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			w.Log.Warn("the repositories could not be looked at: " + err.Error())
		}
		if signal.Sleep(ctx, describeEvery) != nil {
			return
		}
	}
}

// namesOfProducts are the repositories that jobs may be about, as far as the server says.
func (w *Worker) namesOfProducts(ctx context.Context) (names []string) {
	var cursor string
	for {
		page, err := w.api.ListProductsWithResponse(ctx, &apiclient.ListProductsParams{Cursor: text(cursor)})
		if err != nil {
			if ctx.Err() == nil {
				w.Log.Warn("the repositories of products are unknown: " + err.Error())
			}
			return names
		}
		for _, p := range page.JSON200.Items {
			names = append(names, p.Repos...)
		}
		if cursor = page.JSON200.NextCursor; cursor == "" {
			return names
		}
	}
}

// look looks at the repositories.
func (w *Worker) look(ctx context.Context) error {
	all, err := w.Repos.Discover(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found.repos, w.found.unread = all, w.Repos.Unreadable()
	return nil
}

// factory describes this host, with what works of what was found on it.
func (w *Worker) factory() apiclient.FactoryInfo {
	w.mu.Lock()
	found := w.found
	w.mu.Unlock()
	host, _ := os.Hostname() // a host without a name is known by its factory's
	list := make([]apiclient.Repo, 0, len(found.repos))
	for _, r := range found.repos {
		if w.breaker.Offers(repo(r.Name)) {
			list = append(list, apiclient.Repo{Name: r.Name, URL: text(r.URL), DefaultBranch: text(r.DefaultBranch)})
		}
	}
	names, offered := []string{}, slices.Concat(w.host.Capabilities, w.Labels)
	for name, versions := range found.versions {
		if w.breaker.Offers(engine(name)) {
			names, offered = append(names, name), append(offered, versions...)
		}
	}
	if w.Forges.Ready() {
		offered = append(offered, canOpen)
	}
	slices.Sort(names)
	capabilities := slices.Compact(slices.Sorted(slices.Values(offered)))
	info := apiclient.FactoryInfo{Name: w.Factory, OS: &w.host.OS, Host: text(host), Engines: &names,
		Capabilities: &capabilities, Repos: &list, Seats: &w.Seats}
	if all := w.unavailable(found); len(all) > 0 {
		info.Unavailable = &all
	}
	if all := w.rescued(); len(all) > 0 {
		info.Rescued = &all
	}
	return info
}

// unavailable is what the host has and does not offer now.
func (w *Worker) unavailable(found found) []apiclient.Unavailable {
	list := []apiclient.Unavailable{}
	for _, p := range w.breaker.Withdrawn() {
		list = append(list, apiclient.Unavailable{Kind: apiclient.UnavailableKind(p.Kind), Name: p.Name, Reason: p.Reason, Since: p.Since})
	}
	for _, r := range found.unread {
		list = append(list, apiclient.Unavailable{Kind: apiclient.UnavailableRepo, Name: r.Name, Since: r.Since,
			Reason: redact.Cut(plainLine(r.Reason), maxReason)})
	}
	return list[:min(len(list), maxUnavailable)]
}

// rescued is what was moved aside, as the API takes it. Of the reason the part is told that
// the worker says itself: the rest may quote what only the job may know.
func (w *Worker) rescued() []apiclient.Rescued {
	all, err := w.Repos.Rescued()
	if err != nil {
		w.Log.Warn("what was rescued cannot be listed: " + err.Error())
	}
	list := []apiclient.Rescued{}
	for _, r := range all[:min(len(all), maxRescued)] {
		why, _, _ := strings.Cut(r.Why, ":")
		list = append(list, apiclient.Rescued{Name: plainLine(r.Name), Path: redact.Cut(plainLine(r.Dir), maxPath),
			Why: redact.Cut(plainLine(why), maxReason), Since: r.Since})
	}
	return list
}

// tellOffer sees to it that the server knows what is offered: what it gives from then on is
// within that.
func (w *Worker) tellOffer(ctx context.Context) error {
	if w.isOfferTold() {
		return nil
	}
	return w.enrolled(ctx, func() error { return w.heartbeat(ctx) })
}

// isOfferTold reports whether the server knows which of the parts work.
func (w *Worker) isOfferTold() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told == w.breaker.Version()
}

// noteOffer notes which version of what is offered the server knows.
func (w *Worker) noteOffer(version int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = max(w.told, version)
}

// hasEngine reports whether some engine is offered.
func (w *Worker) hasEngine() bool {
	return slices.ContainsFunc(w.Engines, func(e engines.Engine) bool { return w.isUsable(e) && w.breaker.Offers(engine(e.Name())) })
}

// whyIdle says why no engine is offered, and when the first is tried again.
func (w *Worker) whyIdle() string {
	var why []string
	for _, p := range w.breaker.Withdrawn() {
		if p.Kind == engine("").Kind {
			why = append(why, p.Name+" ("+p.Reason+")")
		}
	}
	return "claims nothing, because no engine works now: " + strings.Join(why, ", ")
}

// isUsable reports whether an engine has run on this host.
func (w *Worker) isUsable(e engines.Engine) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ran := w.found.versions[e.Name()]
	return ran
}

// tryAgain probes what was withdrawn as soon as its pause is over, until ctx ends.
func (w *Worker) tryAgain(ctx context.Context) {
	for {
		due, wait := w.breaker.Due()
		for _, p := range due {
			w.probe(ctx, p)
		}
		if len(due) > 0 {
			w.freed.Set()
			w.beatNow.Set()
			continue
		}
		if signal.Sleep(ctx, cmp.Or(min(wait, time.Second), time.Second)) != nil {
			return
		}
	}
}

// probe looks whether a part works again, as far as that costs nothing.
func (w *Worker) probe(ctx context.Context, p breaker.Part) {
	ctx, cancel := context.WithTimeout(ctx, w.probeTime(p))
	defer cancel()
	var err error
	if p.Kind == engine("").Kind {
		err = w.probeEngine(ctx, p.Name)
	} else if err = w.Repos.Check(ctx, p.Name); errors.Is(err, repos.ErrUnknown) {
		w.breaker.Forget(p)
		return
	}
	if err != nil {
		err = errors.New(redact.Cut(plainLine(err.Error()), maxReason))
		w.Log.Warn("it does not work still: "+err.Error(), p.Kind, p.Name)
	} else {
		w.Log.Info("it is tried again", p.Kind, p.Name)
	}
	w.breaker.Probed(p, err)
}

// probeTime is how long a probe may take: a repository may have to be cloned.
func (w *Worker) probeTime(p breaker.Part) time.Duration {
	if p.Kind == engine("").Kind {
		return probeFor
	}
	return breaker.LongestPause
}

// probeEngine runs an engine for its version.
func (w *Worker) probeEngine(ctx context.Context, name string) error {
	at := slices.IndexFunc(w.Engines, func(e engines.Engine) bool { return e.Name() == name })
	version, err := w.Engines[at].Probe(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	versions := map[string][]string{}
	for known, tokens := range w.found.versions {
		versions[known] = tokens
	}
	versions[name] = probe.Versions(name, version)
	w.found.versions = versions
	return nil
}

// withdraw takes a part out of the offer, because an attempt has failed with it.
func (w *Worker) withdraw(p breaker.Part, reason string, trial bool) {
	version := w.breaker.Version()
	w.breaker.Failed(p, reason, trial)
	if w.breaker.Version() != version {
		w.Log.Warn("it is not offered until it works again: "+reason, p.Kind, p.Name)
		w.freed.Set()
	}
}

// errWithdrawn is a part that a job asks for and that is not offered now.
type errWithdrawn struct{ part breaker.Part }

func (e errWithdrawn) Error() string {
	return fmt.Sprintf("The %s %s does not work here now, or is being tried with another job.", e.part.Kind, e.part.Name)
}
