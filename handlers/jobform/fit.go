package jobform

import (
	"slices"
	"strconv"
	"strings"
	"time"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	view "github.com/fleetboard/fleetboard/views/jobform"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// routability is routabilityModel of the page; of a job that cannot start as it is, how
// it is.
func (s pageData) routability() view.Routability {
	m := routabilityModel(draft(s.form), s.snap, s.start)
	j := s.job
	switch {
	case j.Key == "", s.retry, j.Status == jobs.Ready, j.Status == jobs.Waiting:
	case j.Lease != nil:
		m.Foot, m.FootIcon = ui.Say(ui.Name(j.Lease.Agent), ui.T(" works on it now.")), "bot"
	case jobs.Can(j.Status, jobs.ByRetry):
		m.Foot, m.FootIcon = ui.Say(ui.Strong("It is over"), ui.T(" and starts again only when it is retried.")), "circle-stop"
	default:
		m.Foot, m.FootIcon = ui.Say(ui.Strong("It is "+strings.ToLower(j.Status.Word())), ui.T(" now.")), "hourglass"
	}
	return m
}

// routabilityModel says which factories could run the job that is being
// written, and of each other one why not.
func routabilityModel(n jobs.New, snap fleet.Snapshot, start screens.Start) view.Routability {
	routing := snap.Route(fleetNeeds(n))
	m := view.Routability{Tone: ui.OK, RepoHint: repoHint(snap, n.Repo), FactoryHint: factoryHint(snap, n.Factory)}
	seats := 0
	for _, fit := range routing.Eligible {
		seats += fit.Free
		m.Rows = append(m.Rows, eligible(n, fit))
	}
	for _, fit := range routing.Ineligible {
		m.Rows = append(m.Rows, ineligible(n, fit, web.Now(snap)))
	}
	all, can := len(snap.Factories), len(routing.Eligible)
	switch {
	case all == 0:
		m.Tone, m.Title, m.Text = ui.Warn, "No factory has reported yet", "The job waits until one does that can run it"
	case can == 0 && start.CanBeStarted.IsExpected():
		m.Title, m.Text = "No live factory can run this", previewAge(snap)
	case can == 0:
		m.Tone, m.Title, m.Text = ui.Warn, "No live factory can run this", previewAge(snap)
	default:
		m.Title = strconv.Itoa(can) + " of " + web.Plural(all, "factory", "factories") + " can run this"
		m.Text = web.Plural(seats, "seat", "seats") + " free, " + previewAge(snap)
	}
	m.Foot, m.FootIcon = startText(n, can, seats, start, web.Now(snap))
	m.Money = moneyLines(start.Money)
	return m
}

// moneyLines say what the job is expected to cost, and whether its budgets have it left.
func moneyLines(m screens.Money) []view.MoneyLine {
	lines := []view.MoneyLine{{Icon: "coins", Text: jobparts.Expected(m.Expected)}}
	for _, b := range m.Budgets {
		line := view.MoneyLine{Icon: "wallet"}
		line.Text, line.Short = jobparts.Room(b)
		lines = append(lines, line)
	}
	return lines
}

// previewAge says how fresh the preview is.
func previewAge(snap fleet.Snapshot) string {
	var last time.Time
	for _, f := range snap.Factories {
		if f.LastBeatAt.After(last) {
			last = f.LastBeatAt
		}
	}
	if last.IsZero() {
		return "no heartbeat so far"
	}
	return "from heartbeats " + ui.Duration(web.Now(snap).Sub(last)) + " ago"
}

func eligible(n jobs.New, fit fleet.Fit) view.Fit {
	m := view.Fit{Name: fit.Factory.Name, About: web.FactoryAbout(fit.Factory), Kind: view.FitYes, Pips: web.SeatPips(fit.Factory),
		Seats: web.Plural(fit.Free, "seat", "seats") + " free"}
	var parts []string
	if n.Repo != "" {
		parts = append(parts, "Holds "+n.Repo+".")
	}
	switch idle := len(fit.IdleAgents); {
	case fit.Free == 0 && fit.Factory.Taken >= fit.Factory.Seats:
		parts = append(parts, "All its seats are taken.")
	case idle == 0:
		parts = append(parts, "No agent of it is free.")
	case idle <= web.MaxListed:
		parts = append(parts, web.Plural(idle, "agent", "agents")+" idle: "+strings.Join(fit.IdleAgents, ", ")+".")
	default:
		parts = append(parts, web.Plural(idle, "agent", "agents")+" idle.")
	}
	m.Text = strings.Join(parts, " ")
	return m
}

func ineligible(n jobs.New, fit fleet.Fit, now time.Time) view.Fit {
	one := fit.Factory
	m := view.Fit{Name: one.Name, About: web.FactoryAbout(one), Kind: view.FitNo, Missing: missing(fit.Missing), Pips: web.SeatPips(one),
		Seats: web.Plural(one.Free(), "seat", "seats") + " free"}
	needs := len(n.Capabilities)
	if n.Repo != "" {
		needs++
	}
	misses := "Misses " + strconv.Itoa(len(fit.Missing)) + " of " + web.Plural(needs, "need", "needs") + "."
	switch {
	case one.Health == fleet.Ended:
		m.Seats, m.Text = "ended", "Its worker has ended."
		if len(fit.Missing) > 0 {
			m.Text += " " + misses
		}
	case !one.Live():
		m.Seats, m.Text = "dead", deadText(one, now)
		if len(fit.Missing) > 0 {
			m.Text += " " + misses
		}
	case fit.Reason == fleet.ReasonOtherFactory:
		m.Text = "Another factory is asked for."
	case fit.Reason == fleet.ReasonDraining:
		m.Kind, m.Text, m.Seats = view.FitSoon, "Would fit, but it is draining and takes no new claims.", "drain"
	case fit.Reason == fleet.ReasonUnavailable:
		m.Kind, m.Text = view.FitSoon, "Would fit, but none of its engines works now: "+unavailableText(fit)
	case len(fit.Unavailable) > 0 && len(fit.Unavailable) == len(fit.Missing):
		m.Kind, m.Text = view.FitSoon, "Would fit, but does not offer it now and tries again by itself: "+unavailableText(fit)
	default:
		m.Text = misses
	}
	return m
}

// unavailableText is "claude (Invalid API key)." for each that the factory does not offer now.
func unavailableText(fit fleet.Fit) string {
	var list []string
	for _, u := range fit.Unavailable[:min(len(fit.Unavailable), web.MaxListed)] {
		list = append(list, u.Name+" ("+web.FirstLine(u.Reason, web.MaxQuote)+")")
	}
	return strings.Join(list, ", ") + "."
}

// missing returns the tokens that a factory lacks, each with the field that takes it.
func missing(tokens []string) []view.Missing {
	list := make([]view.Missing, len(tokens))
	for i, token := range tokens {
		list[i] = view.Missing{Token: token, Field: reason.TokenField(token)}
	}
	return list
}

// deadText says since when a factory has not called.
func deadText(f fleet.Factory, now time.Time) string {
	if f.LastBeatAt.IsZero() {
		return "Dead."
	}
	return "Dead, last heard of " + ui.Duration(now.Sub(f.LastBeatAt)) + " ago."
}

// startText says when the job would start, and what it waits for first.
func startText(n jobs.New, can, seats int, start screens.Start, now time.Time) (ui.Sentence, string) {
	var open []string
	for _, d := range start.Depends {
		if d.Status != jobs.Completed {
			open = append(open, d.Key)
		}
	}
	at := n.NotBefore
	switch {
	case len(open) > 0:
		text := append(ui.Say(ui.Strong("It waits first"), ui.T(" for ")), web.JoinSpans(reason.KeyLinks(open))...)
		return append(text, ui.T(".")), "link"
	case at != nil && at.After(now):
		return ui.Say(ui.Strong("It waits first"), ui.T(", until "), ui.Moment(ui.Until(*at, now)), ui.T(".")), "calendar-clock"
	case len(start.Reasons) > 0:
		text := ui.Say(ui.Strong("It waits first."))
		for _, why := range start.Reasons {
			text = append(append(append(text, ui.T(" ")), reason.Text(jobs.Job{Spec: jobs.Spec{Repo: n.Repo}}, why, now)...), ui.T("."))
		}
		return text, "hourglass"
	case seats == 0 && start.CanBeStarted.IsExpected():
		return append(reason.CanBeStarted(*start.CanBeStarted), ui.T(".")), "server"
	case can == 0 && start.CanBeStarted != nil:
		return append(reason.PoolStartsNone(*start.CanBeStarted), ui.T(".")), "unplug"
	case can == 0:
		return ui.Say(ui.Strong("It waits"), ui.T(" until a factory offers all it needs. "),
			ui.Link("See the fleet", links.Agents)), "unplug"
	case start.Ahead > 0:
		return ui.Say(ui.Strong("It waits for its turn."), ui.T(" "+aheadText(start))), "server"
	case seats == 0:
		return ui.Say(ui.Strong("It waits for a seat."), ui.T(" All that could take it are taken.")), "server"
	default:
		return ui.Say(ui.Strong("Starts at once"), ui.T(", unless a more urgent job takes the seat.")), "circle-check"
	}
}

// aheadText returns how many jobs are claimed before this one.
func aheadText(start screens.Start) string {
	n := web.Plural(start.Ahead, "job", "jobs")
	if start.More {
		n = "More than " + n
	}
	verb := " are"
	if start.Ahead == 1 {
		verb = " is"
	}
	return n + " of the same or a higher priority" + verb + " ahead of it."
}

// repoHint is who holds the chosen repo.
func repoHint(snap fleet.Snapshot, repo string) string {
	if repo == "" {
		return "Only repos that live factories hold"
	}
	var names []string
	for _, f := range web.LiveFactories(snap) {
		if slices.ContainsFunc(f.Repos, func(r fleet.Repo) bool { return r.Name == repo }) {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return "No live factory holds it now"
	}
	return "Held by " + web.JoinAnd(names)
}

// factoryHint returns what choosing a factory means.
func factoryHint(snap fleet.Snapshot, name string) string {
	for _, f := range snap.Factories {
		switch {
		case f.Name != name:
		case f.Health == fleet.Ended:
			return "It has ended; the job waits until its worker is started again"
		case !f.Live():
			return "It is dead; the job waits until it is back"
		case f.Draining:
			return "It is draining and takes no new claims"
		default:
			return "It runs there and nowhere else"
		}
	}
	if name != "" {
		return "It has not reported; the job waits until it does"
	}
	return "Pick one only if it must run there"
}
