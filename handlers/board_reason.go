package handlers

import (
	"strconv"
	"strings"
	"time"

	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// maxQuote is how much of a person's or an agent's words a sentence holds, in
// characters.
const maxQuote = 120

// reasonIcons are those of look.md section 6.
var reasonIcons = map[string]string{
	kanban.CodeDependency: "link", kanban.CodeNotBefore: "calendar-clock", kanban.CodeRetryBackoff: "timer-reset",
	kanban.CodeBudget: "wallet", kanban.CodeRepoBusy: "lock", kanban.CodeReviewBacklog: "inbox",
	kanban.CodePaused: "circle-pause", kanban.CodeBlocked: "circle-stop", kanban.CodeQuestion: "message-circle-question-mark",
	kanban.CodeNoFactory: "unplug", kanban.CodeSeatsTaken: "server", kanban.CodeCanStart: "circle-check",
	kanban.CodeInReview: "eye", kanban.CodeApproved: "git-merge",
}

// reasonModel says in one sentence why a job does not run; nil where there is
// nothing to say.
func reasonModel(j jobs.Job, why kanban.Reason, now time.Time) *views.Reason {
	if why.Code == "" {
		return nil
	}
	r := &views.Reason{Icon: reasonIcons[why.Code], Text: reasonText(j, why, now)}
	switch why.Code {
	case kanban.CodeNoFactory:
		r.Tone = ui.Warn
	case kanban.CodeCanStart:
		r.Tone = ui.OK
	case kanban.CodeQuestion:
		r.Ask = true
	}
	if r.Icon == "" {
		r.Icon = "hourglass"
	}
	return r
}

func reasonText(j jobs.Job, why kanban.Reason, now time.Time) ui.Sentence {
	switch why.Code {
	case kanban.CodeDependency:
		return dependencyText(why.Keys)
	case kanban.CodeNotBefore:
		return notBeforeText(why.Until, now)
	case kanban.CodeRetryBackoff:
		return retryText(j, why, now)
	case kanban.CodeBudget:
		return ui.Text("Its budget is used up")
	case kanban.CodeRepoBusy:
		return repoBusyText(j, why.Keys)
	case kanban.CodeReviewBacklog:
		return ui.Text("Too many jobs wait for a review")
	case kanban.CodePaused:
		return pausedText(j)
	case kanban.CodeBlocked:
		return byText("Blocked", j.StatusBy, why.Text)
	case kanban.CodeQuestion:
		return ui.Say(ui.Strong(j.StatusBy+" asks:"), ui.T(" "+firstLine(why.Text, maxQuote)))
	case kanban.CodeNoFactory:
		return noFactoryText(j, why)
	case kanban.CodeSeatsTaken:
		return seatsTakenText(j, why)
	case kanban.CodeCanStart:
		return append(ui.Say(ui.T(plural(why.Free, "seat", "seats")+" free on ")), namesOf(why.Factories)...)
	case kanban.CodeInReview:
		return inReviewText(j)
	case kanban.CodeApproved:
		return ui.Text("Approved by " + why.Text + ", to be merged")
	default:
		return ui.Text("Waits: " + strings.ReplaceAll(why.Code, "_", " "))
	}
}

func keyLinks(keys []string) []ui.Span {
	spans := make([]ui.Span, len(keys))
	for i, k := range keys {
		spans[i] = ui.Link(k, links.Job(k))
	}
	return spans
}

func namesOf(factories []string) []ui.Span {
	spans := make([]ui.Span, len(factories))
	for i, f := range factories {
		spans[i] = ui.Name(f)
	}
	return andSpans(spans)
}

func dependencyText(keys []string) ui.Sentence {
	if len(keys) == 0 {
		return ui.Text("Waits for other jobs")
	}
	return append(ui.Say(ui.T("Waits for ")), andSpans(keyLinks(keys))...)
}

func notBeforeText(at *time.Time, now time.Time) ui.Sentence {
	if at == nil || !at.After(now) {
		return ui.Text("Its time has come")
	}
	return ui.Text("Not before " + until(*at, now))
}

func retryText(j jobs.Job, why kanban.Reason, now time.Time) ui.Sentence {
	text := "Retry " + strconv.Itoa(j.FailureCount) + " of " + strconv.Itoa(j.MaxRetries)
	if why.Until != nil && why.Until.After(now) {
		text += " in " + ui.Clock(why.Until.Sub(now))
	} else {
		text += " now"
	}
	if why.Text != "" {
		text += ". Last: " + firstLine(why.Text, maxQuote)
	}
	return ui.Text(text)
}

func repoBusyText(j jobs.Job, keys []string) ui.Sentence {
	if len(keys) == 0 {
		return ui.Say(ui.T("Repo busy: another job holds "), ui.Name(j.Repo))
	}
	verb := " holds "
	if len(keys) > 1 {
		verb = " hold "
	}
	text := append(ui.Say(ui.T("Repo busy: ")), andSpans(keyLinks(keys))...)
	return append(text, ui.T(verb), ui.Name(j.Repo))
}

func pausedText(j jobs.Job) ui.Sentence {
	text := "Paused"
	if j.StatusBy != "" {
		text += " by " + j.StatusBy
	}
	if hasCheckpoint(j) {
		text += ", checkpoint kept"
	}
	return ui.Text(text)
}

func hasCheckpoint(j jobs.Job) bool { return len(j.Checkpoint) > 0 && string(j.Checkpoint) != "null" }

// byText is "Blocked by Mara Ilić: waits for the contract".
func byText(what, who, words string) ui.Sentence {
	if who != "" {
		what += " by " + who
	}
	if words = firstLine(words, maxQuote); words != "" {
		what += ": " + words
	}
	return ui.Text(what)
}

func noFactoryText(j jobs.Job, why kanban.Reason) ui.Sentence {
	switch {
	case why.Nearest == "":
		return ui.Text("No factory has reported yet")
	case j.Factory != "" && why.Text != fleet.ReasonDraining && why.Text != fleet.ReasonDead:
		return ui.Say(ui.T("It must run on "), ui.Name(j.Factory), ui.T(", which is not there or lacks what it needs"))
	case len(why.Missing) == 0 && why.Text == fleet.ReasonDraining:
		return ui.Say(ui.T("Only "), ui.Name(why.Nearest), ui.T(" could run it, and it drains"))
	case len(why.Missing) == 0:
		return ui.Say(ui.T("Only "), ui.Name(why.Nearest), ui.T(" could run it, and it is dead"))
	}
	text := ui.Say(ui.T("No live factory offers "))
	if repo, only := onlyRepo(why.Missing); only {
		text = ui.Say(ui.T("No live factory holds "), ui.Name(repo))
	} else {
		text = append(text, andSpans(chipsOf(why.Missing))...)
	}
	return append(text, ui.T(". Nearest miss: "), ui.Name(why.Nearest))
}

func onlyRepo(missing []string) (repo string, only bool) {
	repo, only = strings.CutPrefix(missing[0], "repo:")
	return repo, only && len(missing) == 1
}

func chipsOf(tokens []string) []ui.Span {
	spans := make([]ui.Span, len(tokens))
	for i, t := range tokens {
		spans[i] = ui.Key(t)
	}
	return spans
}

// seatsTakenText does not say that all seats are taken: a seat without an idle
// agent is not free either.
func seatsTakenText(j jobs.Job, why kanban.Reason) ui.Sentence {
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
	return append(text, namesOf(why.Factories)...)
}

func inReviewText(j jobs.Job) ui.Sentence {
	if commit := resultOf(j).Commit; commit != "" {
		return ui.Say(ui.T("Commit "), ui.Key(shortCommit(commit)), ui.T(" waits for a review"))
	}
	return ui.Text("Handed in, a person decides")
}
