package reason

import (
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// words are what the pages say where a job does not run for one reason.
type words struct {
	icon string
	tone ui.Tone
	// title heads the panel of the job's page, after the job's key; held stands in the history,
	// where that has other words.
	title, held string
	// foot stands on a card before the time at which the wait ends.
	foot string
	// text is the one sentence for cards, pages and programs.
	text func(subject) ui.Sentence
	// next says what somebody can do about it who may change the job, fields are those of its
	// form whose change ends the wait.
	next   func(subject) ui.Sentence
	fields func(subject) []string
}

// table has the words of each code: what a job waits for, then what keeps a ready one from
// being claimed, then where the others stand.
var table = map[string]words{
	screens.CodeDependency: {icon: "link", title: "waits for other jobs", text: subject.dependencies,
		fields: always(fieldDependencies)},
	screens.CodeDependencyFailed: {icon: "octagon-alert", tone: ui.Warn, title: "cannot start by itself", text: subject.ended,
		fields: always(fieldDependencies)},
	screens.CodeNotBefore: {icon: "calendar-clock", title: "waits for its time", foot: "starts", text: subject.notBefore,
		fields: always(fieldNotBefore)},
	screens.CodeRetryBackoff: {icon: "timer-reset", title: "waits to be tried again", text: subject.retry},
	screens.CodeBudget: {icon: "wallet", title: "waits for its budget", text: subject.budget, next: subject.nextOfBudget,
		fields: subject.budgetFields},
	screens.CodeThrottled: {icon: "wallet", title: "waits for its budget", text: subject.budget, next: subject.nextOfBudget},
	screens.CodeRepoBusy:  {icon: "lock", title: "waits for its repo", text: subject.repoBusy, next: subject.nextOfProduct},
	screens.CodePathsBusy: {icon: "lock", title: "waits for paths of its repo", text: subject.pathsBusy, next: subject.nextOfProduct},
	screens.CodeReviewBacklog: {icon: "inbox", title: "waits for the review", held: "waits for a place in the review queue",
		text: subject.backlog, next: subject.nextOfProduct},
	screens.CodeProductPaused: {icon: "circle-pause", title: "waits for its product", next: subject.nextOfProduct,
		text: func(s subject) ui.Sentence {
			return ui.Say(ui.T("Its product "), ui.Name(s.why.Product), ui.T(" is paused"))
		}},

	screens.CodeStopped: {icon: "circle-stop", title: "is stopped", next: subject.nextOfStop, text: subject.stopped},

	screens.CodeNoFactory:  {icon: "unplug", tone: ui.Warn, text: subject.noFactory, fields: subject.factoryFields},
	screens.CodeSeatsTaken: {icon: "server", title: "waits for a seat", text: subject.seatsTaken},
	screens.CodeAgentsBusy: {icon: "bot", title: "waits for an agent", text: func(s subject) ui.Sentence {
		return s.onFactories(web.Plural(s.why.Free, "seat", "seats") + " free, but no agent for it on ")
	}},
	screens.CodeRaised: {icon: "chevron-up", text: func(s subject) ui.Sentence {
		return ui.Text("Raised by ageing: it counts as priority " + strconv.Itoa(s.why.Count) + " because it has waited")
	}},
	screens.CodeOffered: {icon: "server", text: func(s subject) ui.Sentence {
		return append(s.onFactories("Offered to "), ui.T(" until "), s.at(*s.why.Until))
	}},
	screens.CodeAwaitsFactory: {icon: "server", text: func(s subject) ui.Sentence {
		return append(s.onFactories("Waits for a seat of the factory that has its files, "), ui.T(", until "), s.at(*s.why.Until))
	}},
	screens.CodeProviderHeld: {icon: "timer-reset", title: "waits for a provider", text: func(s subject) ui.Sentence {
		return ui.Say(ui.T(s.why.Text+" takes no requests until "), s.at(*s.why.Until))
	}},
	// How many seats are free would change on all cards with each claim.
	screens.CodeCanStart: {icon: "circle-check", tone: ui.OK, title: "can start now", text: func(s subject) ui.Sentence {
		return s.onFactories("A seat is free on ")
	}},

	screens.CodeCanBeStarted:  {icon: "server", title: "waits for a factory to be started", text: subject.canBeStarted},
	screens.CodePoolAtMaximum: {icon: "server", tone: ui.Warn, title: "waits for its pool", text: subject.poolAtMaximum},
	screens.CodePoolStartsNone: {icon: "unplug", tone: ui.Warn, text: func(s subject) ui.Sentence {
		return PoolStartsNone(*s.why.Pool)
	}},

	screens.CodePaused:         {icon: "circle-pause", title: "is paused", text: subject.paused},
	screens.CodePausePending:   {icon: "circle-pause", text: func(s subject) ui.Sentence { return s.pending("Asked to pause") }},
	screens.CodeCancelPending:  {icon: "circle-stop", text: func(s subject) ui.Sentence { return s.pending("Asked to cancel") }},
	screens.CodePreemptPending: {icon: "log-out", title: "is to give its seat to a more urgent job", text: subject.givesSeat},
	screens.CodeAwaitsSeat:     {icon: "server", text: subject.awaitsSeat},
	screens.CodeBlocked: {icon: "circle-stop", title: "is blocked", text: func(s subject) ui.Sentence {
		return ByText("Blocked", s.credit(), s.why.Text)
	}},
	screens.CodeQuestion: {icon: "message-circle-question-mark", title: "waits for an answer",
		text: func(s subject) ui.Sentence {
			return ui.Say(ui.Strong(s.why.By.Name+" asks:"), ui.T(" "+web.FirstLine(s.why.Text, web.MaxQuote)))
		},
		next: func(subject) ui.Sentence {
			return ui.Say(ui.Link("Answer it", links.Question), ui.T(", and the next attempt goes on with your answer"))
		}},
	screens.CodeInReview: {icon: "eye", title: "is in review", text: subject.inReview, next: func(s subject) ui.Sentence {
		return ui.Say(ui.Link("Review it", links.ReviewJob(s.job.Key, "")), ui.T(" with its changes and checks"))
	}},
	screens.CodeApproved: {icon: "git-merge", title: "is approved", text: func(s subject) ui.Sentence {
		return ui.Text(ByText("Approved", s.credit(), "").String() + ", to be merged")
	}},
	screens.CodeVerification: {icon: "eye", text: subject.verification, next: subject.nextOfVerification},
	screens.CodePolicyHeld: {icon: "eye", text: func(s subject) ui.Sentence {
		return ByText("The policy leaves it to a person", "", s.why.Text)
	}},
	screens.CodeMergeWaits:      {icon: "git-merge", text: subject.merge},
	screens.CodeDeliveryRefused: {icon: "octagon-alert", tone: ui.Warn, text: subject.refused},
	screens.CodeClaimed: {icon: "bot", text: func(s subject) ui.Sentence {
		return s.onFactories(s.why.By.Name + " has claimed it on ")
	}},
	screens.CodeRunning: {icon: "bot", text: func(s subject) ui.Sentence {
		return s.onFactories(s.why.By.Name + " works on it on ")
	}},
	screens.CodeCompleted: {icon: "circle-check", tone: ui.OK, text: func(s subject) ui.Sentence {
		return ByText("Done", s.credit(), "")
	}},
	screens.CodeArchived: {icon: "archive", text: func(s subject) ui.Sentence { return ByText("Archived", s.credit(), "") }},
	screens.CodeFailed: {icon: "octagon-alert", tone: ui.Bad, next: subject.nextOfRetry, text: func(s subject) ui.Sentence {
		return ByText("Failed for good", "", s.why.Text)
	}},
	screens.CodeAborted: {icon: "circle-x", next: subject.nextOfRetry, text: func(s subject) ui.Sentence {
		return ByText("Cancelled", s.credit(), s.why.Text)
	}},
	screens.CodeDependencyCycle: {icon: "refresh-cw", tone: ui.Bad,
		text: func(s subject) ui.Sentence { return ByText("It waited for itself", "", s.why.Text) },
		next: func(s subject) ui.Sentence {
			dependencies := ui.Link("dependencies", links.JobRetryWith(s.job.Key)+"#dep")
			return ui.Say(ui.T("Take one of its "), dependencies, ui.T(" away, and retry it"))
		}},
}

// Title heads the panel that says why a job does not run.
func Title(j jobs.Job, why screens.Reason) string {
	switch title := table[why.Code].title; {
	case why.Code == screens.CodeNoFactory:
		return "No live factory can run " + j.Key
	case why.Code == screens.CodeBudget && j.Status == jobs.Paused:
		return j.Key + " is paused by its budget"
	case title != "":
		return j.Key + " " + title
	}
	return j.Key + " waits"
}

// Held says in the history what a job waits for.
func Held(wait jobs.WaitReason) string {
	w := table[string(wait)]
	if w.held != "" {
		return w.held
	}
	return w.title
}

// Foot stands on a card before the time at which its wait ends, "" where the card shows how
// long it has waited.
func Foot(why screens.Reason, now time.Time) string {
	if why.Until == nil || !why.Until.After(now) {
		return ""
	}
	return table[why.Code].foot
}
