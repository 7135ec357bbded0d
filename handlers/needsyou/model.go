package needsyou

import (
	"slices"
	"strconv"
	"strings"
	"time"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/needsyou"
	"github.com/fleetboard/fleetboard/views/ui"
)

// kinds are the words for why a job waits for a person.
var kinds = map[screens.NeedKind]string{
	screens.NeedAnswer: "Question", screens.NeedReview: "Review", screens.NeedRoute: "No factory", screens.NeedRetry: "Failed",
}

func model(page screens.NeedsPage, r web.Request) view.Needs {
	m, canWrite := view.Needs{Count: countWords(page.Count)}, r.Who.Can(tenancy.WriteJobs)
	for _, b := range page.Count.UsedUp() {
		m.Budgets = append(m.Budgets, budget(b, r.Who.Can(tenancy.Manage)))
	}
	for _, u := range page.Count.Models {
		m.Models = append(m.Models, unpriced(u, r.Who.Can(tenancy.Manage)))
	}
	for _, n := range page.List {
		m.Rows = append(m.Rows, row(n, r.Now(), canWrite))
	}
	if page.More {
		m.More = "These are the " + strconv.Itoa(len(m.Rows)) + " oldest. There are more."
	}
	return m
}

// budget returns one that is used up, with what an owner can do about it.
func budget(b budgets.Notice, mayChange bool) view.Budget {
	id := b.ID.String()
	m := view.Budget{ID: id, Name: b.Name, URL: links.Budget(id),
		Text: strconv.Itoa(b.Percent) + "% of it is settled, and no job has room any more. " +
			"Its jobs wait; running ones pause at their next report."}
	if mayChange {
		m.Stop = links.StopBudget(id)
	}
	if mayChange && b.HasMoney {
		m.Raise, m.Transfer = links.RaiseBudget(id), links.TransferTo(id)
	}
	return m
}

// unpriced returns a model without a price, with what an owner can do about it.
func unpriced(u prices.Unpriced, mayDecide bool) view.Model {
	m := view.Model{Name: u.Name, Text: u.Source + " uses it, and " + u.Budget + " cannot count what it costs. " +
		"Agents with this model get no job of that budget until somebody decides."}
	if !mayDecide {
		return m
	}
	m.Decide, m.Price = links.PriceModels, links.PriceForm(u.Provider, u.Name)
	for _, p := range prices.Builtin {
		if !strings.Contains(p.Model, "*") {
			m.As = append(m.As, p.Model)
		}
	}
	m.As = append(m.As, "claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5")
	slices.Sort(m.As)
	return m
}

// countWords returns the count at the head of the page.
func countWords(n screens.Needs) string {
	var words []string
	for _, k := range []struct {
		count     screens.Count
		one, many string
	}{
		{n.Questions, "question", "questions"}, {n.Reviews, "review", "reviews"},
		{screens.Count{Jobs: len(n.UsedUp())}, "budget used up", "budgets used up"},
		{screens.Count{Jobs: len(n.Models)}, "model without a price", "models without a price"},
		{n.Unroutable, "without a factory", "without a factory"}, {n.Failed, "failed", "failed"},
	} {
		switch k.count.Jobs {
		case 0:
		case 1:
			words = append(words, "1 "+k.one)
		default:
			words = append(words, web.CountText(k.count)+" "+k.many)
		}
	}
	return strings.Join(words, ", ")
}

func row(n screens.Need, now time.Time, canWrite bool) view.Row {
	j := n.Job
	r := view.Row{Key: j.Key, Title: j.Title, URL: links.Job(j.Key), Status: j.Status, What: kinds[n.Kind],
		Place: jobparts.Place(j), Since: ui.For(j.StatusAt, now), Version: j.Version}
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
			r.Actions = only(jobparts.Actions(j), jobs.ByRetry, jobs.ByArchive)
			r.Link = &view.Link{Label: "Retry with changes", Icon: "pencil", URL: links.JobRetryWith(j.Key)}
		}
	}
	return r
}

// only returns those of the actions that do one of some things.
func only(actions []ui.Action, verbs ...jobs.Trigger) []ui.Action {
	return slices.DeleteFunc(actions, func(a ui.Action) bool { return !slices.Contains(verbs, jobs.Trigger(a.Verb)) })
}
