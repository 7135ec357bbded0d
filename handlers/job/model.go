package job

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	usageparts "github.com/fleetboard/fleetboard/handlers/parts/usage"
	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/dispatch/announce"
	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend"
	view "github.com/fleetboard/fleetboard/views/job"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// pageData is all that a job's page is made of.
type pageData struct {
	screens.JobPage     // with one event more than is shown where there are more
	job                 jobs.Job
	before              int64 // the event that the shown ones are older than, 0 for the newest
	now                 time.Time
	messages            []bus.Message // the newest ones of its thread
	sizes               map[blobs.Sum]int64
	decision            *decision.Decision // about the last attempt
	deadOffers          []announce.DeadOffer
	canWrite, canDelete bool
}

func (s pageData) model() view.Job {
	j := s.job
	column, changes := screens.StatusColumn(j.Status), jobparts.ParseChanges(j.Result)
	m := view.Job{
		Key: j.Key, Title: j.Title, Status: jobparts.ShownStatus(j), Percent: web.Percent(j.ProgressPercent), Version: j.Version,
		Column: jobparts.ColumnTitles[column], ColumnURL: links.Board + "#col-" + string(column),
		Meta: s.meta(), Created: ui.Day(j.CreatedAt), CreatedBy: j.CreatedBy, MoveURL: links.JobMove(j.Key),
		Strip: s.strip(changes), Changes: changes, Why: s.reason(),
		Body: ui.Markdown(j.Body), Feedback: j.Feedback, Question: s.question(), Thread: s.thread(),
		Acceptance: jobparts.JudgedCriteria(j, s.canWrite, s.Rounds),
		Verified:   jobparts.Verification(j, s.Rounds, s.MoreRounds, s.now),
		Graph:      graphModel(s.Graph), Links: listLinks(s.Graph, j.Key, s.canWrite),
		Needs: s.needs(), Money: s.money(), Limits: s.limits(), Inputs: inputsModel(j),
		LogState: logState(j, s.Fleet), Result: jobparts.Outcome(j), AttemptNote: s.attemptNote(), Ended: s.ended(),
		Placement: s.placement(),
	}
	if m.Result != nil {
		m.Result.Merge, m.Result.Blob = s.merge(), s.download(s.resultBlob())
	}
	if changes != nil {
		changes.PatchURL = jobparts.PatchURL(j.Key, j.Result)
	}
	if s.canWrite {
		m.Actions, m.Moves, m.Ways = jobparts.Actions(j), s.moves(), jobparts.Ways(j)
		if s.canDelete && j.Status.Finished() {
			m.Actions = append(m.Actions, deleteAction(j))
		}
		m.LinkForm = &view.LinkForm{URL: links.JobLink(j.Key), SearchURL: links.JobLinkable(j.Key), Kinds: kindOptions()}
	}
	for _, a := range s.Attempts {
		one := attemptModel(a, j, s.now)
		one.Used = usedModel(s.Used.Attempts[a.Epoch])
		m.Attempts = append(m.Attempts, one)
	}
	m.Used = usedModel(s.Used.Total)
	s.addTalk(m.Attempts)
	m.Events, m.EventNote = s.history()
	if jobparts.HasCheckpoint(j) {
		m.Checkpoint, m.CheckNote = web.PrettyJSON(j.Checkpoint), s.checkNote()
		m.CheckBlob = s.download(s.checkpointBlob())
	}
	return m
}

// merge returns the job that merges this one, nil where a person does or did.
func (s pageData) merge() *viewparts.Merge {
	by := s.Merge
	key := ui.Link(by.Key, links.Job(by.Key))
	switch {
	case by.Key == "":
		return nil
	case s.job.Status == jobs.Approved && !by.Status.Finished():
		return &viewparts.Merge{Label: "Merge", Job: ui.Say(key, ui.T(" merges it")), Pull: jobparts.SafeAddress(by.URL)}
	case s.job.MergedCommit != "" && (by.Status == jobs.Completed || by.Status == jobs.Archived):
		return &viewparts.Merge{Label: "Merged by", Job: ui.Say(key), Pull: jobparts.SafeAddress(by.URL)}
	}
	return nil
}

// moves leaves out those that the buttons of the page do, with their questions.
func (s pageData) moves() []viewparts.Move {
	list := slices.DeleteFunc(screens.ListMoves(s.job), func(m screens.Move) bool {
		_, asks := jobparts.AskedAction(s.job, m.Verb)
		return asks
	})
	return jobparts.Moves(s.job, list)
}

// meta returns the line under the title.
func (s pageData) meta() []ui.Sentence {
	j := s.job
	var list []ui.Sentence
	for _, word := range []string{j.Repo, j.Phase} {
		if word != "" {
			list = append(list, ui.Say(ui.Name(word)))
		}
	}
	if j.Product != "" && j.Product != jobs.DefaultProduct {
		list = append(list, ui.Text("product "+j.Product))
	}
	list = append(list, ui.Text("priority "+strconv.Itoa(j.Priority)))
	if n := len(s.Attempts); n > 1 {
		list = append(list, ui.Text(web.Nth(n)+" attempt"))
	}
	if j.Verifies != "" {
		list = append(list, ui.Say(ui.T("verifies "), ui.Link(j.Verifies, links.Job(j.Verifies))))
	}
	return list
}

func (s pageData) checkNote() ui.Sentence {
	if s.job.ProgressAt != nil {
		return ui.Say(ui.T("with the progress of "), ui.Moment(ui.Ago(*s.job.ProgressAt, s.now)), ui.T("; any factory can go on from it"))
	}
	return ui.Text("any factory can go on from it")
}

// overEstimate is how far past its estimate a job is warned (docs/concepts.md).
const overEstimate = 30 * time.Minute

// needs returns what the job requires of a factory, and which ones have it.
func (s pageData) needs() []view.Fact {
	j := s.job
	can := ui.Text("no live factory")
	if fits := s.Why.Routing.Eligible; len(fits) > 0 {
		names := make([]string, len(fits))
		for i, f := range fits {
			names[i] = f.Factory.Name
		}
		can = append(reason.Factories(names), ui.T(" of "+strconv.Itoa(len(s.Fleet.Factories))))
	}
	caps := view.Fact{Name: "Capabilities", Chips: j.Capabilities}
	if len(j.Capabilities) == 0 {
		caps.Text = ui.Text("none")
	}
	facts := []view.Fact{
		{Name: "Repo", Text: web.OrWord(j.Repo, "none")},
		{Name: "Factory", Text: web.OrWord(j.Factory, "Any live factory")},
		caps,
	}
	if !s.ended() {
		facts = append(facts, view.Fact{Name: "Can run on", Text: can})
	}
	if len(j.Files) > 0 {
		facts = append(facts, view.Fact{Name: "Means to change", Chips: j.Files})
	}
	return facts
}

// money returns what the job costs, and the budgets that it counts for.
func (s pageData) money() []view.Fact {
	spent := jobparts.Cost(s.Used.Spent)
	if spent == "" {
		spent = "nothing yet"
	}
	facts := []view.Fact{{Name: "Spent", Text: ui.Text(spent)}}
	if s.Used.Verified {
		facts = append(facts, view.Fact{Name: "Verifying it", Text: ui.Text(s.Used.Verify.String() + " beside that")})
	}
	for i, m := range s.Models {
		fact := view.Fact{Text: ui.Say(ui.Link(m.Model, links.UsagePage(links.UsageView{Filter: map[string][]string{
			"job": {s.job.Key}, "model": {m.Model}}})), ui.T(" "+usageparts.Cost(m.Usage)+", "+usageparts.Tokens(m.Tokens())+" tokens"))}
		if i == 0 {
			fact.Name = "By model"
		}
		facts = append(facts, fact)
	}
	if !s.ended() {
		facts = append(facts, view.Fact{Name: "Expected", Text: jobparts.Expected(s.Money.Expected)})
	}
	if own := s.job.BudgetNanos; own != nil {
		facts = append(facts, view.Fact{Name: "Its own budget", Text: ui.Text(spend.Nanos(*own).String())})
	}
	if own := s.job.TokenBudget; own != nil {
		facts = append(facts, view.Fact{Name: "Its own tokens", Text: ui.Text(tokens(*own))})
	}
	if s.ended() {
		return facts
	}
	for i, b := range s.Money.Budgets {
		fact := view.Fact{}
		if i == 0 {
			fact.Name = "Budgets"
		}
		fact.Text, _ = jobparts.Room(b)
		facts = append(facts, fact)
	}
	return facts
}

// limits returns how far the job may go.
func (s pageData) limits() []view.Fact {
	j := s.job
	estimate := "none"
	if j.EstimatedMinutes != nil {
		over := *j.EstimatedMinutes + int(overEstimate/time.Minute)
		estimate = strconv.Itoa(*j.EstimatedMinutes) + " min, warned at " + strconv.Itoa(over)
	}
	review := "Not needed"
	if j.ReviewRequired {
		review = "Needed"
	}
	facts := []view.Fact{
		{Name: "Estimate", Text: ui.Text(estimate)},
		{Name: "Retries", Text: ui.Text(strconv.Itoa(min(j.FailureCount, j.MaxRetries)) + " of " + strconv.Itoa(j.MaxRetries) + " used")},
		{Name: "Review", Text: ui.Text(review)},
	}
	if j.NotBefore != nil {
		facts = append(facts, view.Fact{Name: "Not before", Text: ui.Say(ui.Moment(ui.Until(*j.NotBefore, s.now)))})
	}
	if len(j.Tags) > 0 {
		facts = append(facts, view.Fact{Name: "Tags", Chips: j.Tags})
	}
	return append(facts, view.Fact{Name: "Version", Text: ui.Say(ui.Key("v" + strconv.Itoa(j.Version)))})
}

func (s pageData) attemptNote() string {
	j := s.job
	if len(s.Attempts) == 0 {
		return ""
	}
	return ofMost(j.FailureCount, "failure", "failures", j.MaxRetries) + ", " + ofMost(j.LostCount, "loss", "losses", j.MaxLost)
}

// ofMost is "1 failure of 3"; past the most it leaves that away.
func ofMost(n int, one, many string, most int) string {
	if n > most {
		return web.Plural(n, one, many)
	}
	return web.Plural(n, one, many) + " of " + strconv.Itoa(most)
}

// outcomes are the words and marks of an attempt's end. Those of a status take
// its glyph.
var outcomes = map[string]struct {
	word   string
	status jobs.Status
	icon   string
	tone   ui.Tone
}{
	"completed": {word: "Handed in", status: jobs.Completed},
	"failed":    {word: "Failed", status: jobs.Failed},
	"released":  {word: "Given back", icon: "reply"},
	"lost":      {word: "Lost", icon: "unplug", tone: ui.Warn},
	"cancelled": {word: "Cancelled", status: jobs.Aborted},
	"paused":    {word: "Paused", status: jobs.Paused},
	"blocked":   {word: "Blocked", status: jobs.Blocked},
	"timeout":   {word: "Timed out", icon: "clock-alert", tone: ui.Warn},
	"rejected":  {word: "Sent back", icon: "undo-2", tone: ui.Warn},
	"asked":     {word: "Asked", icon: "message-circle-question-mark"},
}

func attemptModel(a attempts.Attempt, j jobs.Job, now time.Time) view.Attempt {
	m := view.Attempt{Number: int(a.Epoch), Agent: a.Agent, Factory: a.Factory, Percent: web.PercentWord(a.ProgressPercent),
		Detail: web.FirstLine(a.Error, web.MaxQuote), Delivery: jobparts.Delivery(a, now)}
	m.Model, m.ModelWhy = modelWords(a)
	if a.EndedAt == nil {
		m.Status, m.Running = jobparts.ShownStatus(j), ui.Run(a.ClaimedAt, now)
		m.Outcome = m.Status.Word()
		return m
	}
	m.Took = ui.Took(a.EndedAt.Sub(a.ClaimedAt))
	o, known := outcomes[a.Outcome]
	if !known {
		o.word, o.icon = web.FirstLine(a.Outcome, web.MaxSub), "info"
	}
	m.Outcome, m.Status, m.Icon, m.IconTone = o.word, o.status, o.icon, o.tone
	return m
}

// modelWords returns which model ran an attempt, and why that one as far as its agent said.
func modelWords(a attempts.Attempt) (model, why string) {
	if a.ModelWhy == "" {
		return a.Model, ""
	}
	if why = a.ModelWhy; why != attempts.ByDefault && a.Tier != "" {
		why += ": " + a.Tier
	}
	return cmp.Or(a.Model, "its own model"), a.Engine + ", " + why
}
