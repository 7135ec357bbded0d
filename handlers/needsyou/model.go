package needsyou

import (
	"slices"
	"strconv"
	"strings"
	"time"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog/loss"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/needsyou"
	"github.com/fleetboard/fleetboard/views/ui"
)

// kindWords say why a job waits for a person.
var kindWords = map[screens.NeedKind]string{
	screens.NeedAnswer: "Question", screens.NeedReview: "Review", screens.NeedRoute: "No factory", screens.NeedRetry: "Failed",
}

func model(page screens.NeedsPage, r web.Request) view.Needs {
	m := view.Needs{Count: countWords(page.Count)}
	canManage := r.Who.Can(tenancy.Manage)
	for _, b := range page.Count.UsedUp() {
		m.Budgets = append(m.Budgets, budget(b, canManage))
	}
	m.Models = models(page.Count.Models, canManage)
	for _, l := range page.Count.Losses {
		m.Losses = append(m.Losses, lossModel(l, r))
	}
	for _, w := range page.Count.Webhooks {
		m.Webhooks = append(m.Webhooks, webhook(w, r.Now(), canManage))
	}
	canWrite := r.Who.Can(tenancy.WriteJobs)
	for _, n := range page.List {
		m.Rows = append(m.Rows, row(n, r.Now(), canWrite))
	}
	if page.More {
		m.More = "These are the " + strconv.Itoa(len(m.Rows)) + " oldest. There are more."
	}
	return m
}

// lossModel describes what the database lacks, with the button of those who may say that it is known.
func lossModel(l loss.Loss, r web.Request) view.Loss {
	m := view.Loss{ID: strconv.FormatInt(l.ID, 10), Text: web.LossText(l), URL: links.Status, Since: ui.Ago(l.NoticedAt, r.Now())}
	if r.Who.Can(tenancy.RunFleet) {
		m.Note = links.NoteLosses
	}
	return m
}

// webhook describes a webhook that the server has disabled, with the link of those who may enable it.
func webhook(w webhooks.Notice, now time.Time, canManage bool) view.Webhook {
	m := view.Webhook{ID: w.ID.String(), Address: w.Address, Since: ui.Ago(w.DisabledAt, now),
		Text: "Its receiver took nothing, whatever was tried for more than a day, so the webhook was disabled."}
	if w.Reason == webhooks.Gone {
		m.Text = "Its receiver answered that it is gone (410), so the webhook was disabled."
	}
	if canManage {
		m.URL = links.Webhook(m.ID)
	}
	return m
}

// budget describes a budget that is used up, with the links of those who may change it.
func budget(b budgets.Notice, canManage bool) view.Budget {
	id := b.ID.String()
	m := view.Budget{
		ID:   id,
		Name: b.Name, Title: web.UsedUp(b),
		URL: links.Budget(id),
		Text: strconv.Itoa(b.Percent) + "% of it is settled, and no job has room any more. " +
			"Its jobs wait; running ones pause at their next report.",
	}
	if canManage {
		m.Stop = links.StopBudget(id)
	}
	if canManage && b.Limits.Money != nil {
		m.Raise = links.RaiseBudget(id)
		m.Transfer = links.TransferTo(id)
	}
	return m
}

// models describes the models without a price, with the links of those who may decide on them.
func models(list []prices.Unpriced, canManage bool) []view.Model {
	suggestions := prices.Suggestions()
	var shown []view.Model
	for _, u := range list {
		m := view.Model{
			Name: u.Name,
			Text: u.Source + " uses it, and " + u.Budget + " cannot count what it costs. " +
				"Agents with this model get no job of that budget until somebody decides.",
		}
		if canManage {
			m.Decide = links.PriceModels
			m.Price = links.PriceForm(u.Provider, u.Name)
			m.As = suggestions
		}
		shown = append(shown, m)
	}
	return shown
}

// countWords returns the count at the head of the page.
func countWords(n screens.Needs) string {
	usedUp := screens.Count{Jobs: len(n.UsedUp())} // never capped, nor are models
	unpriced := screens.Count{Jobs: len(n.Models)}
	lost := screens.Count{Jobs: len(n.Losses)}
	disabled := screens.Count{Jobs: len(n.Webhooks)}
	var words []string
	for _, text := range []string{
		some(lost, "loss of the database", "losses of the database"),
		some(n.Questions, "question", "questions"),
		some(n.Reviews, "review", "reviews"),
		some(usedUp, "budget at its end", "budgets at their end"),
		some(disabled, "disabled webhook", "disabled webhooks"),
		some(unpriced, "model without a price", "models without a price"),
		some(n.Unroutable, "without a factory", "without a factory"),
		some(n.Failed, "failed", "failed"),
	} {
		if text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, ", ")
}

// some returns a count with its noun, "" for nothing.
func some(n screens.Count, singular, plural string) string {
	switch n.Jobs {
	case 0:
		return ""
	case 1:
		return "1 " + singular
	}
	return web.CountText(n) + " " + plural
}

func row(n screens.Need, now time.Time, canWrite bool) view.Row {
	j := n.Job
	r := view.Row{
		Key:     j.Key,
		Title:   j.Title,
		URL:     links.Job(j.Key),
		Status:  j.Status,
		What:    kindWords[n.Kind],
		Place:   jobparts.Place(j),
		Since:   ui.For(j.StatusAt, now),
		Version: j.Version,
	}
	if n.Kind == screens.NeedAnswer {
		r.Question = &view.Question{Agent: j.StatusBy.Name, Text: j.Question}
		if canWrite {
			r.Question.URL = links.JobAction(j.Key, string(jobs.ByAnswer))
		}
		return r
	}
	r.Reason = reason.Model(j, n.Why, now)
	switch n.Kind {
	case screens.NeedReview:
		r.Link = &view.Link{Label: "Review", Icon: "eye", URL: links.ReviewJob(j.Key, ""), Main: canWrite}
	case screens.NeedRoute:
		r.Link = &view.Link{Label: "Why", Icon: "unplug", URL: links.Job(j.Key) + "#why"}
		if mends := reason.Mends(j, n.Why); canWrite && len(mends) > 0 {
			r.Link = &view.Link{Label: "Change " + mends[0].Text, Icon: "pencil", URL: mends[0].Href, Main: true}
		}
	case screens.NeedRetry:
		if canWrite {
			r.Actions = withVerbs(jobparts.Actions(j), jobs.ByRetry, jobs.ByArchive)
			r.Link = &view.Link{Label: "Retry with changes", Icon: "pencil", URL: links.JobRetryWith(j.Key)}
		}
	}
	return r
}

// withVerbs returns the actions that have one of the verbs.
func withVerbs(actions []ui.Action, verbs ...jobs.Trigger) []ui.Action {
	return slices.DeleteFunc(actions, func(a ui.Action) bool { return !slices.Contains(verbs, jobs.Trigger(a.Verb)) })
}
