package handlers

import (
	"strconv"
	"time"

	"fleetboard/handlers/reason"
	"fleetboard/handlers/web"
	"fleetboard/internal/jobs"
	"fleetboard/views"
	"fleetboard/views/ui"
)

// overEstimate is how far past its estimate a job is warned (product.md 2).
const overEstimate = 30 * time.Minute

// needs is what the job asks of a factory, and which ones have it.
func (s jobSheet) needs() []views.Fact {
	j := s.job
	can := ui.Text("no live factory")
	if fits := s.why.Routing.Eligible; len(fits) > 0 {
		names := make([]string, len(fits))
		for i, f := range fits {
			names[i] = f.Factory.Name
		}
		can = append(reason.Factories(names), ui.T(" of "+strconv.Itoa(len(s.snap.Factories))))
	}
	caps := views.Fact{Name: "Capabilities", Chips: j.Capabilities}
	if len(j.Capabilities) == 0 {
		caps.Text = ui.Text("none")
	}
	facts := []views.Fact{
		{Name: "Repo", Text: web.OrWord(j.Repo, "none")},
		{Name: "Factory", Text: web.OrWord(j.Factory, "Any live factory")},
		caps,
		{Name: "Can run on", Text: can},
	}
	if len(j.Files) > 0 {
		facts = append(facts, views.Fact{Name: "Means to change", Chips: j.Files})
	}
	return facts
}

// limits is how far the job may go.
func (s jobSheet) limits() []views.Fact {
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
	facts := []views.Fact{
		{Name: "Estimate", Text: ui.Text(estimate)},
		{Name: "Retries", Text: ui.Text(strconv.Itoa(min(j.FailureCount, j.MaxRetries)) + " of " + strconv.Itoa(j.MaxRetries) + " used")},
		{Name: "Review", Text: ui.Text(review)},
	}
	if j.NotBefore != nil {
		facts = append(facts, views.Fact{Name: "Not before", Text: ui.Text(web.Until(*j.NotBefore, s.now))})
	}
	if len(j.Tags) > 0 {
		facts = append(facts, views.Fact{Name: "Tags", Chips: j.Tags})
	}
	return append(facts, views.Fact{Name: "Version", Text: ui.Say(ui.Key("v" + strconv.Itoa(j.Version)))})
}

func (s jobSheet) attemptNote() string {
	j := s.job
	if len(s.attempts) == 0 {
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
	status ui.Status
	icon   string
	tone   ui.Tone
}{
	"completed": {word: "Handed in", status: ui.Completed},
	"failed":    {word: "Failed", status: ui.Failed},
	"released":  {word: "Given back", icon: "reply"},
	"lost":      {word: "Lost", icon: "unplug", tone: ui.Warn},
	"cancelled": {word: "Cancelled", status: ui.Aborted},
	"paused":    {word: "Paused", status: ui.Paused},
	"blocked":   {word: "Blocked", status: ui.Blocked},
	"timeout":   {word: "Timed out", icon: "clock-alert", tone: ui.Warn},
	"rejected":  {word: "Sent back", icon: "undo-2", tone: ui.Warn},
	"asked":     {word: "Asked", icon: "message-circle-question-mark"},
}

func attemptModel(a jobs.Attempt, j jobs.Job, now time.Time) views.Attempt {
	m := views.Attempt{Number: int(a.Epoch), Agent: a.Agent, Factory: a.Factory, Percent: web.PercentWord(a.ProgressPercent),
		Detail: web.FirstLine(a.Error, web.MaxQuote)}
	if a.EndedAt == nil {
		m.Status, m.Outcome, m.Running = ui.Status(j.Status), ui.Status(j.Status).Word(), ui.Run(a.ClaimedAt, now)
		return m
	}
	m.Took = ui.Clock(a.EndedAt.Sub(a.ClaimedAt))
	o, known := outcomes[a.Outcome]
	if !known {
		o.word, o.icon = web.FirstLine(a.Outcome, web.MaxSub), "info"
	}
	m.Outcome, m.Status, m.Icon, m.IconTone = o.word, o.status, o.icon, o.tone
	return m
}
