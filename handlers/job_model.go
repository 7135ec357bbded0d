package handlers

import (
	"slices"
	"strconv"
	"time"

	"fleetboard/handlers/jobparts"
	"fleetboard/handlers/web"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// jobSheet is all that a job's page is made of.
type jobSheet struct {
	job                 jobs.Job
	why                 kanban.Explanation
	attempts            []jobs.Attempt // newest first
	used                dispatch.JobUsage
	graph               jobs.Graph
	links               []jobs.Node      // the jobs of the graph
	talk                []eventlog.Event // what agents and people said to one another, newest first
	events              []eventlog.Event // newest first, one more than is shown where there are more
	before              int64            // the event that the shown ones are older than, 0 for the newest
	snap                fleet.Snapshot
	now                 time.Time
	canWrite, canDelete bool
}

func (s jobSheet) model() views.Job {
	j := s.job
	column := kanban.ColumnOf(j.Status)
	m := views.Job{
		Key: j.Key, Title: j.Title, Status: ui.Status(j.Status), Percent: web.Percent(j.ProgressPercent), Version: j.Version,
		Column: jobparts.ColumnTitles[column], ColumnURL: links.Board + "#col-" + string(column),
		Meta: s.meta(), Created: ui.Day(j.CreatedAt), CreatedBy: j.CreatedBy, MoveURL: links.JobMove(j.Key),
		Strip: s.strip(), Why: s.reason(),
		Body: ui.Markdown(j.Body), Feedback: j.Feedback, Question: s.question(),
		Acceptance: jobparts.Criteria(j, s.canWrite), Graph: graphModel(s.graph), Links: linksOf(s.graph, j.Key, s.canWrite),
		Needs: s.needs(), Limits: s.limits(), Inputs: inputsModel(j),
		Result: jobparts.Outcome(j), AttemptNote: s.attemptNote(),
	}
	if s.canWrite {
		m.Actions, m.Moves = jobparts.Actions(j), s.moves()
		if s.canDelete && j.Status.Finished() {
			m.Actions = append(m.Actions, deleteAction(j))
		}
		m.LinkForm = &views.LinkForm{URL: links.JobLink(j.Key), SearchURL: links.JobLinkable(j.Key), Kinds: kindOptions()}
	}
	for _, a := range s.attempts {
		one := attemptModel(a, j, s.now)
		one.Used = usedModel(s.used.Attempts[a.Epoch])
		m.Attempts = append(m.Attempts, one)
	}
	m.Used = usedModel(s.used.Total)
	s.addTalk(m.Attempts)
	m.Events, m.EventNote = s.history()
	if jobparts.HasCheckpoint(j) {
		m.Checkpoint, m.CheckNote = web.PrettyJSON(j.Checkpoint), s.checkNote()
	}
	return m
}

// moves leaves out those that the buttons of the page do, with their questions.
func (s jobSheet) moves() []views.Move {
	var list []kanban.Move
	for column := range jobparts.ColumnTitles {
		if by, ok := kanban.MoveVerb(s.job.Status, column); ok && by != jobs.ByCancel && by != jobs.ByMerge {
			list = append(list, kanban.Move{To: column, Verb: by})
		}
	}
	slices.SortFunc(list, func(a, b kanban.Move) int {
		return slices.Index(kanban.Columns, a.To) - slices.Index(kanban.Columns, b.To)
	})
	return jobparts.Moves(list)
}

// meta is the line under the title.
func (s jobSheet) meta() []ui.Sentence {
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
	if n := len(s.attempts); n > 1 {
		list = append(list, ui.Text(web.Nth(n)+" attempt"))
	}
	return list
}

func (s jobSheet) checkNote() string {
	if s.job.ProgressAt != nil {
		return "with the progress of " + ui.Duration(s.now.Sub(*s.job.ProgressAt)) + " ago; any factory can go on from it"
	}
	return "any factory can go on from it"
}
