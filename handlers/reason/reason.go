package reason

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Model says in one sentence why a job does not run; nil where there is
// nothing to say.
func Model(j jobs.Job, why screens.Reason, now time.Time) *viewparts.Reason {
	if why.Code == "" {
		return nil
	}
	w := table[why.Code]
	return &viewparts.Reason{Icon: cmp.Or(w.icon, "hourglass"), Tone: w.tone, Text: Text(j, why, now),
		Ask: why.Code == screens.CodeQuestion}
}

// Text says in one sentence why a job does not run, to somebody who reads it now.
func Text(j jobs.Job, why screens.Reason, now time.Time) ui.Sentence {
	return subject{j, why, clock{now: now}}.sentence()
}

// Exact says the same to a program, with times in RFC 3339.
func Exact(j jobs.Job, why screens.Reason) string {
	return subject{j, why, clock{exact: true}}.sentence().String() + "."
}

// clock says when something comes to pass.
type clock struct {
	now   time.Time
	exact bool
}

// at is "18:00 UTC", or the moment itself.
func (c clock) at(t time.Time) ui.Span {
	if c.exact {
		return ui.T(t.UTC().Format(time.RFC3339))
	}
	return ui.Moment(ui.Until(t, c.now))
}

// in is "in 4m 10s", or the moment itself.
func (c clock) in(t time.Time) []ui.Span {
	if c.exact {
		return []ui.Span{ui.T("at "), c.at(t)}
	}
	return []ui.Span{ui.T("in "), ui.Moment(ui.Left(t, c.now))}
}

// subject is what a sentence is about.
type subject struct {
	job jobs.Job
	why screens.Reason
	clock
}

func (s subject) sentence() ui.Sentence {
	if text := table[s.why.Code].text; text != nil {
		return text(s)
	}
	return ui.Text("Waits: " + strings.ReplaceAll(s.why.Code, "_", " "))
}

// KeyLinks are jobs by their keys.
func KeyLinks(keys []string) []ui.Span {
	spans := make([]ui.Span, len(keys))
	for i, k := range keys {
		spans[i] = ui.Link(k, links.Job(k))
	}
	return spans
}

// onFactories is the text before the factories of the reason.
func (s subject) onFactories(text string) ui.Sentence {
	return append(ui.Say(ui.T(text)), Factories(s.why.Factories)...)
}

// Factories joins the names of factories.
func Factories(factories []string) []ui.Span {
	spans := make([]ui.Span, len(factories))
	for i, f := range factories {
		spans[i] = ui.Name(f)
	}
	return web.JoinSpans(spans)
}

func (s subject) dependencies() ui.Sentence {
	if len(s.why.Keys) == 0 {
		return ui.Text("Waits for other jobs")
	}
	return append(ui.Say(ui.T("Waits for ")), web.JoinSpans(KeyLinks(s.why.Keys))...)
}

// endedWords are how a dependency ended that was not completed.
var endedWords = map[jobs.Status]string{
	jobs.Failed: "failed", jobs.Aborted: "was cancelled", jobs.Archived: "was archived unfinished",
}

// ended names what will not complete by itself, and the way out.
func (s subject) ended() ui.Sentence {
	ended := s.why.Ended
	if len(ended) == 1 {
		e := ended[0]
		return ui.Say(ui.T("Waits for "), ui.Link(e.Key, links.Job(e.Key)), ui.T(", which "+endedWords[e.Status]+". Retry it or unlink it"))
	}
	keys := make([]string, len(ended))
	for i, e := range ended {
		keys[i] = e.Key
	}
	text := append(ui.Say(ui.T("Waits for ")), web.JoinSpans(KeyLinks(keys))...)
	return append(text, ui.T(", which ended without success. Retry or unlink them"))
}

func (s subject) notBefore() ui.Sentence {
	if s.why.Until == nil || !s.why.Until.After(s.now) {
		return ui.Text("Its time has come")
	}
	return ui.Say(ui.T("Not before "), s.at(*s.why.Until))
}

func (s subject) retry() ui.Sentence {
	next := []ui.Span{ui.T("now")}
	if s.why.Until != nil && s.why.Until.After(s.now) {
		next = s.in(*s.why.Until)
	}
	if s.why.Lost {
		return append(ui.Text("Lost with many others, back "), next...)
	}
	text := ui.Text("Retry " + strconv.Itoa(s.job.FailureCount) + " of " + strconv.Itoa(s.job.MaxRetries) + " ")
	if s.job.FailureKind == jobs.FailedRateLimit {
		text = ui.Text("Its provider took no requests; tried again ")
	} else if s.job.FailureKind.IsHosts() {
		kind := strings.ReplaceAll(string(s.job.FailureKind), "_", " ")
		text = ui.Text("Its host could not work on it (" + kind + "), which costs it nothing; tried again ")
	}
	text = append(text, next...)
	if s.why.Text != "" {
		text = append(text, ui.T(". Last: "+web.FirstLine(s.why.Text, web.MaxQuote)))
	}
	return text
}

// budget is which budget has too little left, or that the job's own is used up.
func (s subject) budget() ui.Sentence {
	if s.why.Text != "" {
		return ui.Text(s.why.Text)
	}
	return ui.Text("Its budget is used up")
}

// repoBusy is "Repo busy: FB-137 holds ios-client, claude-1 works on it".
func (s subject) repoBusy() ui.Sentence {
	if len(s.why.Keys) == 0 {
		return ui.Say(ui.T("Repo busy: another job holds "), ui.Name(s.job.Repo))
	}
	text := append(ui.Say(ui.T("Repo busy: ")), web.JoinSpans(KeyLinks(s.why.Keys))...)
	text = append(text, ui.T(" holds "), ui.Name(s.job.Repo))
	if s.why.By.Name != "" {
		text = append(text, ui.T(", "), ui.Name(s.why.By.Name), ui.T(" works on it"))
	}
	return text
}

// pathsBusy is "Paths busy: FB-137 may touch internal/db, claude-1 works on it".
func (s subject) pathsBusy() ui.Sentence {
	if len(s.why.Keys) == 0 {
		return ui.Say(ui.T("Paths busy: other jobs of "), ui.Name(s.job.Repo), ui.T(" are looked at; it goes on in a moment"))
	}
	text := append(ui.Say(ui.T("Paths busy: ")), web.JoinSpans(KeyLinks(s.why.Keys))...)
	if s.why.Ahead {
		text = append(text, ui.T(" comes first and"))
	}
	text = append(text, ui.T(" may touch "))
	switch {
	case len(s.why.Paths) == 0:
		text = append(text, ui.T("the same files of "), ui.Name(s.job.Repo))
	case s.why.Paths[0] == "**":
		text = append(text, ui.T("all of "), ui.Name(s.job.Repo)) // neither says which files
	default:
		text = append(text, ui.Name(s.why.Paths[0]))
		if more := len(s.why.Paths) - 1; more > 0 {
			text = append(text, ui.T(" and "+web.Plural(more, "path", "paths")+" more"))
		}
		text = append(text, ui.T(" too"))
	}
	if s.why.By.Name != "" {
		text = append(text, ui.T(", "), ui.Name(s.why.By.Name), ui.T(" works on it"))
	}
	return text
}

// backlog is "Review queue of billing is full, 5 of 5 jobs in review".
func (s subject) backlog() ui.Sentence {
	if s.why.Limit == 0 {
		return ui.Text("Too many jobs wait for a review")
	}
	state := " is full, "
	if s.why.Count < s.why.Limit {
		state = " has room again, "
	}
	return ui.Say(ui.T("Review queue of "), ui.Name(s.why.Product),
		ui.T(state+ui.Count(s.why.Count)+" of "+web.Plural(s.why.Limit, "job", "jobs")+" in review"))
}

// stopped is "The whole fleet is stopped by Olga: the model writes nonsense".
func (s subject) stopped() ui.Sentence {
	what := ui.T("The whole fleet")
	if s.why.Product != "" {
		what = ui.Name(s.why.Product)
	}
	return ui.Say(what, ui.T(" is stopped by "), ui.Name(s.why.By.Name), ui.T(": "+web.FirstLine(s.why.Text, web.MaxQuote)))
}

func (s subject) paused() ui.Sentence {
	text := "Paused"
	if who := tenancy.Credit(s.job.StatusBy, s.job.CarriedOutBy); who != "" {
		text += " by " + who
	}
	if jobparts.HasCheckpoint(s.job) {
		text += ", checkpoint kept"
	}
	return ui.Text(text)
}

// pending says what the agent of a job has to do, and how long it has for that.
func (s subject) pending(what string) ui.Sentence {
	text := ByText(what, s.credit(), strings.TrimSuffix(s.why.Text, "."))
	if s.why.Until != nil && s.why.Until.After(s.now) {
		text = append(text, ui.T("; the agent has until "), s.at(*s.why.Until))
	}
	return text
}

// ByText is "Blocked by Mara Ilić: waits for the contract".
func ByText(what, who, words string) ui.Sentence {
	if who != "" {
		what += " by " + who
	}
	if words = web.FirstLine(words, web.MaxQuote); words != "" {
		what += ": " + words
	}
	return ui.Text(what)
}

// credit names who decided on what the reason says, and who carried it out.
func (s subject) credit() string { return tenancy.Credit(s.why.By, s.why.CarriedOutBy) }

func (s subject) noFactory() ui.Sentence {
	switch {
	case s.why.Nearest == "":
		return ui.Text("No factory has reported yet")
	case s.job.Factory != "" && !s.fits() && len(s.why.Unavailable) == 0:
		return ui.Say(ui.T("It must run on "), ui.Name(s.job.Factory), ui.T(", which is not there or lacks what it needs"))
	case len(s.why.Missing) == 0:
		text := ui.Say(ui.T("Only "), ui.Name(s.why.Nearest), ui.T(" could run it, and "+closed[s.why.Text]))
		return append(text, s.unavailable()...)
	}
	text := ui.Say(ui.T("No live factory offers "))
	if repo, only := onlyRepo(s.why.Missing); only {
		text = ui.Say(ui.T("No live factory holds "), ui.Name(repo))
	} else {
		text = append(text, web.JoinSpans(toChips(s.why.Missing))...)
	}
	if len(s.why.Unavailable) > 0 {
		text = append(text, ui.T(". "), ui.Name(s.why.Nearest), ui.T(" tries again by itself"))
		return append(text, s.unavailable()...)
	}
	return append(text, ui.T(". Nearest miss: "), ui.Name(s.why.Nearest))
}

// closed says why a factory that has all that a job needs takes none.
var closed = map[string]string{fleet.ReasonDraining: "it drains", fleet.ReasonDead: "it is dead", fleet.ReasonEnded: "it has ended",
	fleet.ReasonUnavailable: "none of its engines works now"}

// fits reports whether the nearest factory has all that the job needs.
func (s subject) fits() bool { return closed[s.why.Text] != "" }

// unavailable is ": claude (Invalid API key)", for each that the nearest factory does not
// offer now.
func (s subject) unavailable() (text ui.Sentence) {
	for i, u := range s.why.Unavailable[:min(len(s.why.Unavailable), web.MaxListed)] {
		before := ": "
		if i > 0 {
			before = ", "
		}
		text = append(text, ui.T(before), ui.Name(u.Name), ui.T(" ("+web.FirstLine(u.Reason, web.MaxQuote)+")"))
	}
	return text
}

func onlyRepo(missing []string) (repo string, only bool) {
	repo, only = strings.CutPrefix(missing[0], "repo:")
	return repo, only && len(missing) == 1
}

func toChips(tokens []string) []ui.Span {
	spans := make([]ui.Span, len(tokens))
	for i, t := range tokens {
		spans[i] = ui.Key(t)
	}
	return spans
}

// seatsTaken does not say that all seats are taken: a seat without an idle
// agent is not free either.
func (s subject) seatsTaken() ui.Sentence {
	text := ui.Say(ui.T("None of the " + ui.Count(s.why.Seats) + " seats that "))
	switch {
	case s.why.Seats == 1 && s.job.Repo != "":
		text = ui.Say(ui.T("The one seat that holds "), ui.Name(s.job.Repo))
	case s.why.Seats == 1:
		text = ui.Say(ui.T("The one seat that can run it"))
	case s.job.Repo != "":
		text = append(text, ui.T("hold "), ui.Name(s.job.Repo))
	default:
		text = append(text, ui.T("can run it"))
	}
	if s.why.Seats == 1 {
		text = append(text, ui.T(" is not free, on "))
	} else {
		text = append(text, ui.T(" is free, on "))
	}
	text = append(text, Factories(s.why.Factories)...)
	if len(s.why.Keys) == 0 {
		return text
	}
	return append(append(text, ui.T(", held by ")), s.heldBy()...)
}

// heldBy names the jobs on the seats, as far as they were read.
func (s subject) heldBy() []ui.Span {
	keys := KeyLinks(s.why.Keys)
	if s.why.More > 0 {
		shown := min(len(keys), web.MaxListed-1)
		return web.JoinSpans(append(keys[:shown:shown], ui.T(strconv.Itoa(len(keys)-shown+s.why.More)+" more")))
	}
	return web.JoinSpans(keys)
}

func (s subject) inReview() ui.Sentence {
	if commit := jobparts.ReadResult(s.job).Commit; commit != "" {
		return ui.Say(ui.T("Commit "), ui.Key(jobparts.ShortCommit(commit)), ui.T(" waits for a review"))
	}
	return ui.Text("Handed in, a person decides")
}

// canBeStarted says that a pool can start a factory, and how long that takes where it was
// measured.
func (s subject) canBeStarted() ui.Sentence {
	return append(ui.Say(ui.T("The pool "), ui.Name(s.why.Pool.Pool), ui.T(" can start a factory for it")),
		about(s.why.Pool.ColdStartSeconds())...)
}

// CanBeStarted says in the form of a job that a pool starts a factory for it.
func CanBeStarted(p pools.Start) ui.Sentence {
	if p.Maximum > 0 {
		return ui.Say(ui.T("The pool "), ui.Name(p.Pool), ui.T(" has all its "+web.Plural(p.Maximum, "factory", "factories")+
			"; it waits until one of them is free"))
	}
	return append(ui.Say(ui.Strong("Can be started"), ui.T(" by the pool "), ui.Name(p.Pool)), about(p.ColdStartSeconds())...)
}

// PoolStartsNone says why no factory for a job can be expected of the pool that fits, and what to look at.
func PoolStartsNone(p pools.Start) ui.Sentence {
	pool := ui.Link(p.Pool, links.Pool(p.Pool))
	if len(p.Lacks) > 0 {
		text := append(ui.Say(ui.T("The pool "), pool, ui.T(" says that its factories offer ")), web.JoinSpans(toChips(p.Lacks))...)
		return append(text, ui.T(", and they do not. Change the pool, or what its factories have"))
	}
	return ui.Say(ui.T("The pool "), pool, ui.T(" needs factories, and for ten minutes none was started. See whether its scaler runs"))
}

// about is ": about 8 s".
func about(seconds *int) ui.Sentence {
	if seconds == nil {
		return nil
	}
	return ui.Text(": about " + strconv.Itoa(*seconds) + " s")
}

func (s subject) poolAtMaximum() ui.Sentence { return CanBeStarted(*s.why.Pool) }
