package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/worker/breaker"
	"github.com/fleetboard/fleetboard/internal/client/worker/probe"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/signal"
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

// offer is what the worker offers of what is there: engines and repositories that work.
type offer struct {
	*Options
	*breaker.Breaker
	host probe.Host
	// changed is called when something was withdrawn or works again.
	changed func()

	mu       sync.Mutex
	versions map[string][]string // the capabilities of the engines that have run
	repos    []repos.Repo
	unread   []repos.Unreadable
	told     int // the version of the breaker that the server knows
}

func newOffer(o *Options, changed func()) *offer {
	return &offer{Options: o, Breaker: breaker.New(o.Retry, sinceBoot), changed: changed}
}

// engine and repo are parts of what is offered.
func engine(name string) breaker.Part {
	return breaker.Part{Kind: string(api.UnavailableEngine), Name: name}
}

func repo(name string) breaker.Part {
	return breaker.Part{Kind: string(api.UnavailableRepo), Name: name}
}

// probeHost finds out what there is. The error says that no engine can be used.
func (o *offer) probeHost(ctx context.Context) error {
	o.host = probe.Of(ctx, o.Engines)
	for _, name := range slices.Sorted(maps.Keys(o.host.Missing)) {
		why := o.host.Missing[name]
		o.Log.Warn("an engine cannot be used: "+why.Error(), "engine", name)
		if !o.LookedFor || !errors.Is(why, exec.ErrNotFound) {
			o.Failed(engine(name), redact.Cut(plainLine(why.Error()), api.MaxUnavailableReason), false)
		}
	}
	if len(o.host.Engines) == 0 {
		return fmt.Errorf("no engine can be used here: install %s, or name a program with --engine 'command:…'",
			engines.Enumerate(engines.Titles(), "or"))
	}
	o.versions = o.host.Engines
	return nil
}

// keepLooking looks for repositories until ctx ends; names gives those of products.
func (o *offer) keepLooking(ctx context.Context, names func(context.Context) []string) {
	var reached time.Duration
	for {
		if now := sinceBoot(); len(o.Repos.Clone) > 0 && (reached == 0 || now-reached > reachEvery) {
			reached = now
			o.Repos.Reach(ctx, names(ctx))
		}
		if err := o.look(ctx); err != nil && ctx.Err() == nil {
			o.Log.Warn("the repositories could not be looked at: " + err.Error())
		}
		if signal.Sleep(ctx, describeEvery) != nil {
			return
		}
	}
}

// look looks at the repositories.
func (o *offer) look(ctx context.Context) error {
	all, err := o.Repos.Discover(ctx)
	if err != nil {
		return err
	}
	unread := o.Repos.Unreadable()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.repos, o.unread = all, unread
	return nil
}

// describe describes this host, with what works of what was found on it, and says which
// version of the breaker that is.
func (o *offer) describe() (info api.FactoryInfo, version int) {
	version = o.Version()
	o.mu.Lock()
	all, unread, versions := o.repos, o.unread, o.versions
	o.mu.Unlock()
	host, _ := os.Hostname() // a host without a name is known by its factory's
	list := make([]api.Repo, 0, len(all))
	for _, r := range all {
		if o.Offers(repo(r.Name)) {
			list = append(list, api.Repo{Name: r.Name, URL: text(r.URL), DefaultBranch: text(r.DefaultBranch)})
		}
	}
	names, offered := []string{}, slices.Concat(o.host.Capabilities, o.Labels)
	for name, tokens := range versions {
		if o.Offers(engine(name)) {
			names, offered = append(names, name), append(offered, tokens...)
		}
	}
	if o.Forges.Ready() {
		offered = append(offered, canOpen)
	}
	slices.Sort(names)
	capabilities := slices.Compact(slices.Sorted(slices.Values(offered)))
	info = api.FactoryInfo{Name: o.Factory, OS: &o.host.OS, Host: text(host), Engines: &names,
		Capabilities: &capabilities, Repos: &list, Seats: &o.Seats}
	if withdrawn := o.unavailable(unread); len(withdrawn) > 0 {
		info.Unavailable = &withdrawn
	}
	if rescued := o.rescued(); len(rescued) > 0 {
		info.Rescued = &rescued
	}
	return info, version
}

// unavailable returns what the host has and does not offer now.
func (o *offer) unavailable(unread []repos.Unreadable) []api.Unavailable {
	list := []api.Unavailable{}
	for _, p := range o.Withdrawn() {
		list = append(list, api.Unavailable{Kind: api.UnavailableKind(p.Kind), Name: p.Name, Reason: p.Reason, Since: p.Since})
	}
	for _, r := range unread {
		if o.Offers(repo(r.Name)) { // else it is reported already
			list = append(list, api.Unavailable{Kind: api.UnavailableRepo, Name: r.Name, Since: r.Since,
				Reason: redact.Cut(plainLine(r.Reason), api.MaxUnavailableReason)})
		}
	}
	return list[:min(len(list), maxUnavailable)]
}

// rescued returns what was moved aside, as the API takes it. Of the reason it has the part that
// the worker says itself: the rest may quote what only the job may know.
func (o *offer) rescued() []api.Rescued {
	all, err := o.Repos.Rescued()
	if err != nil {
		o.Log.Warn("what was rescued cannot be listed: " + err.Error())
	}
	list := []api.Rescued{}
	for _, r := range all[:min(len(all), maxRescued)] {
		why, _, _ := strings.Cut(r.Why, ":")
		list = append(list, api.Rescued{Name: plainLine(r.Name), Path: redact.Cut(plainLine(r.Dir), maxPath),
			Why: redact.Cut(plainLine(why), api.MaxRescuedWhy), Since: r.Since})
	}
	return list
}

// isTold reports whether the server knows which of the parts work.
func (o *offer) isTold() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.told == o.Version()
}

// noteTold notes which version of the breaker the server knows.
func (o *offer) noteTold(version int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = max(o.told, version)
}

// hasEngine reports whether some engine is offered.
func (o *offer) hasEngine() bool {
	return slices.ContainsFunc(o.Engines, func(e engines.Engine) bool { return o.hasRun(e) && o.Offers(engine(e.Name())) })
}

// hasRun reports whether an engine has run on this host.
func (o *offer) hasRun(e engines.Engine) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ran := o.versions[e.Name()]
	return ran
}

// explainIdle says why no engine is offered.
func (o *offer) explainIdle() string {
	var why []string
	for _, p := range o.Withdrawn() {
		if p.Kind == engine("").Kind {
			why = append(why, p.Name+" ("+p.Reason+")")
		}
	}
	return "claims nothing, because no engine works now: " + strings.Join(why, ", ")
}

// retry probes what was withdrawn as soon as its pause is over, until ctx ends.
func (o *offer) retry(ctx context.Context) {
	for {
		due, wait := o.Due()
		for _, p := range due {
			o.probe(ctx, p)
		}
		if len(due) > 0 {
			o.changed()
			continue
		}
		if signal.Sleep(ctx, cmp.Or(min(wait, time.Second), time.Second)) != nil {
			return
		}
	}
}

// probe looks whether a part works again, as far as that costs nothing.
func (o *offer) probe(ctx context.Context, p breaker.Part) {
	var err error
	if p.Kind == engine("").Kind {
		err = o.probeEngine(ctx, p.Name)
	} else if err = o.Repos.Check(ctx, p.Name); errors.Is(err, repos.ErrUnknown) {
		o.Forget(p)
		return
	}
	if err != nil {
		err = errors.New(redact.Cut(plainLine(err.Error()), api.MaxUnavailableReason))
		o.Log.Warn("it does not work still: "+err.Error(), p.Kind, p.Name)
	} else {
		o.Log.Info("it is tried again", p.Kind, p.Name)
	}
	o.Probed(p, err)
}

// probeEngine runs an engine for its version.
func (o *offer) probeEngine(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	at := slices.IndexFunc(o.Engines, func(e engines.Engine) bool { return e.Name() == name })
	version, err := o.Engines[at].Probe(ctx)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	versions := maps.Clone(o.versions)
	versions[name] = probe.Versions(name, version)
	o.versions = versions
	return nil
}

// withdraw takes a part out of the offer, because an attempt has failed with it.
func (o *offer) withdraw(p breaker.Part, reason string, trial bool) {
	version := o.Version()
	o.Failed(p, reason, trial)
	if o.Version() != version {
		o.Log.Warn("it is not offered until it works again: "+reason, p.Kind, p.Name)
		o.changed()
	}
}

// restore offers a part to all again that its trial has found to work.
func (o *offer) restore(p breaker.Part) {
	version := o.Version()
	o.Worked(p)
	if o.Version() != version {
		o.Log.Info("it works again", p.Kind, p.Name)
		o.changed()
	}
}
