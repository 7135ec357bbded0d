package reason

import (
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/jobparts"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// icons stand beside a reason on cards and on the job page.
var icons = map[string]string{
	screens.CodeDependency: "link", screens.CodeNotBefore: "calendar-clock", screens.CodeRetryBackoff: "timer-reset",
	screens.CodeBudget: "wallet", screens.CodeRepoBusy: "lock", screens.CodeReviewBacklog: "inbox",
	screens.CodePaused: "circle-pause", screens.CodeBlocked: "circle-stop", screens.CodeQuestion: "message-circle-question-mark",
	screens.CodeNoFactory: "unplug", screens.CodeSeatsTaken: "server", screens.CodeCanStart: "circle-check",
	screens.CodeInReview: "eye", screens.CodeApproved: "git-merge", screens.CodeMergeWaits: "git-merge",
	screens.CodeDependencyFailed: "octagon-alert", screens.CodeProductPaused: "circle-pause", screens.CodeAgentsBusy: "bot",
	screens.CodeProviderHeld: "timer-reset", screens.CodeThrottled: "wallet",
	screens.CodePausePending: "circle-pause", screens.CodeCancelPending: "circle-stop",
	screens.CodeClaimed: "bot", screens.CodeRunning: "bot", screens.CodeCompleted: "circle-check", screens.CodeArchived: "archive",
	screens.CodeFailed: "octagon-alert", screens.CodeDependencyCycle: "refresh-cw", screens.CodeAborted: "circle-x",
	screens.CodeDeliveryRefused: "octagon-alert",
}

// Model says in one sentence why a job does not run; nil where there is
// nothing to say.
func Model(j jobs.Job, why screens.Reason, now time.Time) *viewparts.Reason {
	if why.Code == "" {
		return nil
	}
	r := &viewparts.Reason{Icon: icons[why.Code], Text: Text(j, why, now)}
	switch why.Code {
	case screens.CodeNoFactory, screens.CodeDependencyFailed, screens.CodeDeliveryRefused:
		r.Tone = ui.Warn
	case screens.CodeFailed, screens.CodeDependencyCycle:
		r.Tone = ui.Bad
	case screens.CodeCanStart, screens.CodeCompleted:
		r.Tone = ui.OK
	case screens.CodeQuestion:
		r.Ask = true
	}
	if r.Icon == "" {
		r.Icon = "hourglass"
	}
	return r
}

// Text says in one sentence why a job does not run, to somebody who reads it now.
func Text(j jobs.Job, why screens.Reason, now time.Time) ui.Sentence {
	return text(j, why, clock{now: now})
}

// Exact says the same to a program, with times in RFC 3339.
func Exact(j jobs.Job, why screens.Reason) string {
	return text(j, why, clock{exact: true}).String() + "."
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

func text(j jobs.Job, why screens.Reason, c clock) ui.Sentence {
	switch why.Code {
	case screens.CodeNoFactory:
		return noFactoryText(j, why)
	case screens.CodeSeatsTaken:
		return seatsTakenText(j, why)
	case screens.CodeAgentsBusy:
		return append(ui.Say(ui.T(web.Plural(why.Free, "seat", "seats")+" free, but no agent for it on ")), Factories(why.Factories)...)
	case screens.CodeProviderHeld:
		return ui.Say(ui.T(why.Text+" takes no requests until "), c.at(*why.Until))
	case screens.CodeCanStart:
		return append(ui.Say(ui.T(web.Plural(why.Free, "seat", "seats")+" free on ")), Factories(why.Factories)...)
	case screens.CodePaused:
		return pausedText(j)
	case screens.CodePausePending:
		return pendingText("Asked to pause", why, c)
	case screens.CodeCancelPending:
		return pendingText("Asked to cancel", why, c)
	case screens.CodeBlocked:
		return ByText("Blocked", credit(why), why.Text)
	case screens.CodeQuestion:
		return ui.Say(ui.Strong(why.By.Name+" asks:"), ui.T(" "+web.FirstLine(why.Text, web.MaxQuote)))
	case screens.CodeInReview:
		return inReviewText(j)
	case screens.CodeApproved:
		return ui.Text(ByText("Approved", credit(why), "").String() + ", to be merged")
	case screens.CodeMergeWaits:
		return mergeText(j, why)
	case screens.CodeDeliveryRefused:
		return refusedText(why)
	default:
		if text := lifeText(why); len(text) > 0 {
			return text
		}
		return waitText(j, why, c)
	}
}

// waitText is about a job that waits for something that comes to pass.
func waitText(j jobs.Job, why screens.Reason, c clock) ui.Sentence {
	switch why.Code {
	case screens.CodeDependency:
		return dependencyText(why.Keys)
	case screens.CodeDependencyFailed:
		return endedText(why.Ended)
	case screens.CodeNotBefore:
		return notBeforeText(why.Until, c)
	case screens.CodeRetryBackoff:
		return retryText(j, why, c)
	case screens.CodeBudget, screens.CodeThrottled:
		return budgetText(why)
	case screens.CodeRepoBusy:
		return repoBusyText(j, why)
	case screens.CodeReviewBacklog:
		return backlogText(why)
	case screens.CodeProductPaused:
		return ui.Say(ui.T("Its product "), ui.Name(why.Product), ui.T(" is paused"))
	default:
		return ui.Text("Waits: " + strings.ReplaceAll(why.Code, "_", " "))
	}
}

// lifeText is about a job that runs or is over, empty for one that waits.
func lifeText(why screens.Reason) ui.Sentence {
	switch why.Code {
	case screens.CodeClaimed:
		return append(ui.Say(ui.T(why.By.Name+" has claimed it on ")), Factories(why.Factories)...)
	case screens.CodeRunning:
		return append(ui.Say(ui.T(why.By.Name+" works on it on ")), Factories(why.Factories)...)
	case screens.CodeCompleted:
		return ByText("Done", credit(why), "")
	case screens.CodeArchived:
		return ByText("Archived", credit(why), "")
	case screens.CodeFailed:
		return ByText("Failed for good", "", why.Text)
	case screens.CodeDependencyCycle:
		return ByText("It waited for itself", "", why.Text)
	case screens.CodeAborted:
		return ByText("Cancelled", credit(why), why.Text)
	default:
		return nil
	}
}

// KeyLinks are jobs by their keys.
func KeyLinks(keys []string) []ui.Span {
	spans := make([]ui.Span, len(keys))
	for i, k := range keys {
		spans[i] = ui.Link(k, links.Job(k))
	}
	return spans
}

// Factories joins the names of factories.
func Factories(factories []string) []ui.Span {
	spans := make([]ui.Span, len(factories))
	for i, f := range factories {
		spans[i] = ui.Name(f)
	}
	return web.AndSpans(spans)
}

func dependencyText(keys []string) ui.Sentence {
	if len(keys) == 0 {
		return ui.Text("Waits for other jobs")
	}
	return append(ui.Say(ui.T("Waits for ")), web.AndSpans(KeyLinks(keys))...)
}

// endedWords are how a dependency ended that was not completed.
var endedWords = map[jobs.Status]string{
	jobs.Failed: "failed", jobs.Aborted: "was cancelled", jobs.Archived: "was archived unfinished",
}

// endedText names what will not complete by itself, and the way out.
func endedText(ended []screens.Ended) ui.Sentence {
	if len(ended) == 1 {
		e := ended[0]
		return ui.Say(ui.T("Waits for "), ui.Link(e.Key, links.Job(e.Key)), ui.T(", which "+endedWords[e.Status]+". Retry it or unlink it"))
	}
	keys := make([]string, len(ended))
	for i, e := range ended {
		keys[i] = e.Key
	}
	text := append(ui.Say(ui.T("Waits for ")), web.AndSpans(KeyLinks(keys))...)
	return append(text, ui.T(", which ended without success. Retry or unlink them"))
}

func notBeforeText(at *time.Time, c clock) ui.Sentence {
	if at == nil || !at.After(c.now) {
		return ui.Text("Its time has come")
	}
	return ui.Say(ui.T("Not before "), c.at(*at))
}

func retryText(j jobs.Job, why screens.Reason, c clock) ui.Sentence {
	next := []ui.Span{ui.T("now")}
	if why.Until != nil && why.Until.After(c.now) {
		next = c.in(*why.Until)
	}
	if why.Lost {
		return append(ui.Text("Lost with many others, back "), next...)
	}
	text := ui.Text("Retry " + strconv.Itoa(j.FailureCount) + " of " + strconv.Itoa(j.MaxRetries) + " ")
	if j.FailureKind == jobs.FailedRateLimit {
		text = ui.Text("Its provider took no requests; tried again ")
	} else if j.FailureKind.IsHosts() {
		kind := strings.ReplaceAll(string(j.FailureKind), "_", " ")
		text = ui.Text("Its host could not work on it (" + kind + "), which costs it nothing; tried again ")
	}
	text = append(text, next...)
	if why.Text != "" {
		text = append(text, ui.T(". Last: "+web.FirstLine(why.Text, web.MaxQuote)))
	}
	return text
}

// budgetText is which budget has too little left, or that the job's own is used up.
func budgetText(why screens.Reason) ui.Sentence {
	if why.Text != "" {
		return ui.Text(why.Text)
	}
	return ui.Text("Its budget is used up")
}

// repoBusyText is "Repo busy: FB-137 holds ios-client, claude-1 works on it".
func repoBusyText(j jobs.Job, why screens.Reason) ui.Sentence {
	if len(why.Keys) == 0 {
		return ui.Say(ui.T("Repo busy: another job holds "), ui.Name(j.Repo))
	}
	text := append(ui.Say(ui.T("Repo busy: ")), web.AndSpans(KeyLinks(why.Keys))...)
	text = append(text, ui.T(" holds "), ui.Name(j.Repo))
	if why.By.Name != "" {
		text = append(text, ui.T(", "), ui.Name(why.By.Name), ui.T(" works on it"))
	}
	return text
}

// backlogText is "Review queue of billing is full, 5 of 5 jobs in review".
func backlogText(why screens.Reason) ui.Sentence {
	if why.Limit == 0 {
		return ui.Text("Too many jobs wait for a review")
	}
	state := " is full, "
	if why.Count < why.Limit {
		state = " has room again, "
	}
	return ui.Say(ui.T("Review queue of "), ui.Name(why.Product),
		ui.T(state+ui.Count(why.Count)+" of "+web.Plural(why.Limit, "job", "jobs")+" in review"))
}

func pausedText(j jobs.Job) ui.Sentence {
	text := "Paused"
	if who := tenancy.Credit(j.StatusBy, j.CarriedOutBy); who != "" {
		text += " by " + who
	}
	if jobparts.HasCheckpoint(j) {
		text += ", checkpoint kept"
	}
	return ui.Text(text)
}

// pendingText says what the agent of a job has to do, and how long it has for that.
func pendingText(what string, why screens.Reason, c clock) ui.Sentence {
	text := ByText(what, credit(why), strings.TrimSuffix(why.Text, "."))
	if why.Until != nil && why.Until.After(c.now) {
		text = append(text, ui.T("; the agent has until "), c.at(*why.Until))
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
func credit(why screens.Reason) string { return tenancy.Credit(why.By, why.CarriedOutBy) }

func noFactoryText(j jobs.Job, why screens.Reason) ui.Sentence {
	switch {
	case why.Nearest == "":
		return ui.Text("No factory has reported yet")
	case j.Factory != "" && !fits(why) && len(why.Unavailable) == 0:
		return ui.Say(ui.T("It must run on "), ui.Name(j.Factory), ui.T(", which is not there or lacks what it needs"))
	case len(why.Missing) == 0:
		text := ui.Say(ui.T("Only "), ui.Name(why.Nearest), ui.T(" could run it, and "+closed[why.Text]))
		return append(text, unavailableText(why)...)
	}
	text := ui.Say(ui.T("No live factory offers "))
	if repo, only := onlyRepo(why.Missing); only {
		text = ui.Say(ui.T("No live factory holds "), ui.Name(repo))
	} else {
		text = append(text, web.AndSpans(toChips(why.Missing))...)
	}
	if len(why.Unavailable) > 0 {
		text = append(text, ui.T(". "), ui.Name(why.Nearest), ui.T(" tries again by itself"))
		return append(text, unavailableText(why)...)
	}
	return append(text, ui.T(". Nearest miss: "), ui.Name(why.Nearest))
}

// closed says why a factory that has all that a job needs takes none.
var closed = map[string]string{fleet.ReasonDraining: "it drains", fleet.ReasonDead: "it is dead", fleet.ReasonEnded: "it has ended",
	fleet.ReasonUnavailable: "none of its engines works now"}

// fits reports whether the nearest factory has all that the job needs.
func fits(why screens.Reason) bool { return closed[why.Text] != "" }

// unavailableText is ": claude (Invalid API key)", for each that the nearest factory does not
// offer now.
func unavailableText(why screens.Reason) (text ui.Sentence) {
	for i, u := range why.Unavailable[:min(len(why.Unavailable), web.MaxListed)] {
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

// seatsTakenText does not say that all seats are taken: a seat without an idle
// agent is not free either.
func seatsTakenText(j jobs.Job, why screens.Reason) ui.Sentence {
	text := ui.Say(ui.T("None of the " + ui.Count(why.Seats) + " seats that "))
	switch {
	case why.Seats == 1 && j.Repo != "":
		text = ui.Say(ui.T("The one seat that holds "), ui.Name(j.Repo))
	case why.Seats == 1:
		text = ui.Say(ui.T("The one seat that can run it"))
	case j.Repo != "":
		text = append(text, ui.T("hold "), ui.Name(j.Repo))
	default:
		text = append(text, ui.T("can run it"))
	}
	if why.Seats == 1 {
		text = append(text, ui.T(" is not free, on "))
	} else {
		text = append(text, ui.T(" is free, on "))
	}
	text = append(text, Factories(why.Factories)...)
	if len(why.Keys) == 0 {
		return text
	}
	return append(append(text, ui.T(", held by ")), heldBy(why)...)
}

// heldBy names the jobs on the seats, as far as they were read.
func heldBy(why screens.Reason) []ui.Span {
	keys := KeyLinks(why.Keys)
	if why.More > 0 {
		shown := min(len(keys), web.MaxListed-1)
		return web.AndSpans(append(keys[:shown:shown], ui.T(strconv.Itoa(len(keys)-shown+why.More)+" more")))
	}
	return web.AndSpans(keys)
}

func inReviewText(j jobs.Job) ui.Sentence {
	if commit := jobparts.ReadResult(j).Commit; commit != "" {
		return ui.Say(ui.T("Commit "), ui.Key(jobparts.ShortCommit(commit)), ui.T(" waits for a review"))
	}
	return ui.Text("Handed in, a person decides")
}
