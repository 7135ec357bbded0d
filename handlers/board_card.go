package handlers

import (
	"strconv"
	"time"

	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

const (
	// lateProgress is the age from which on a progress is amber.
	lateProgress = 10 * time.Minute
	// lateReview is the age from which on a review is amber.
	lateReview = 2 * time.Hour
	maxSub     = 80
)

// look is how one reader sees the board: what narrows it and what he may do.
type look struct {
	filter   links.Filter
	canWrite bool
	now      time.Time
	snap     fleet.Snapshot
}

// card shows one job.
func (l look) card(c kanban.Card) views.Card {
	j := c.Job
	m := views.Card{
		Key: j.Key, Title: j.Title, URL: links.Job(j.Key), Column: string(kanban.ColumnOf(j.Status)),
		Status: ui.Status(j.Status), Percent: percent(j.ProgressPercent), Place: placeOf(j),
		Priority: j.Priority, Version: j.Version, MoveURL: links.JobMove(j.Key),
	}
	switch {
	case j.Lease != nil:
		l.working(&m, j)
	case j.Status.Finished():
		l.finished(&m, j)
	default:
		m.Reason = reasonModel(j, c.Why, l.now)
		l.standing(&m, j, c.Why)
	}
	if j.LostCount > 0 && !j.Status.Finished() {
		m.Lost = "lost " + strconv.Itoa(j.LostCount) + "×"
		m.LostTitle = "Its lease was lost " + plural(j.LostCount, "time", "times") + "; after more than " + strconv.Itoa(j.MaxLost) + " it fails"
	}
	if l.canWrite {
		m.Moves = movesOf(c.Moves)
		m.Actions = besideMoves(actionsOf(j), c.Moves)
		if c.Why.Code == kanban.CodeQuestion {
			m.Answer = links.Job(j.Key) + "#answer"
		}
	}
	return m
}

// placeOf is "ledger-api · M2"; without a repo the product stands for it.
func placeOf(j jobs.Job) string {
	place := j.Repo
	if place == "" {
		place = j.Product
	}
	if j.Phase != "" {
		place += " · " + j.Phase
	}
	return place
}

// besideMoves leaves out the actions that the moves already offer.
func besideMoves(actions []views.Action, moves []kanban.Move) []views.Action {
	var list []views.Action
	for _, a := range actions {
		offered := false
		for _, m := range moves {
			offered = offered || string(m.Verb) == a.Verb
		}
		if !offered {
			list = append(list, a)
		}
	}
	return list
}

// working fills in who works on it and how far it is.
func (l look) working(m *views.Card, j jobs.Job) {
	m.Agent, m.Factory = j.Lease.Agent, j.Lease.Factory
	m.Notice = directiveReason(j, l.now)
	if j.Status == jobs.Assigned {
		m.Step, m.Progress = "Assigned, not started", ui.For(j.Lease.ClaimedAt, l.now)
		return
	}
	m.Elapsed = ui.For(j.Lease.ClaimedAt, l.now)
	m.Step = firstLine(j.CurrentStep, maxQuote)
	if m.Step == "" && m.Percent < 0 {
		m.Step = "Started"
	}
	if j.ProgressAt != nil {
		m.Progress = ui.Ago(*j.ProgressAt, l.now)
		m.ProgressLate = l.now.Sub(*j.ProgressAt) >= lateProgress
	}
}

// directiveReason says what the agent was asked, nil for nothing.
func directiveReason(j jobs.Job, now time.Time) *views.Reason {
	lease := j.Lease
	grace := ""
	if lease.GraceEndsAt != nil && lease.GraceEndsAt.After(now) {
		grace = ", it has " + ui.Clock(lease.GraceEndsAt.Sub(now))
	}
	switch lease.Directive {
	case string(jobs.ByPause):
		return &views.Reason{Icon: "circle-pause", Tone: ui.Warn, Text: ui.Text(byText("Asked to pause", tenancy.Credit(lease.DirectiveBy, tenancy.Actor{}), "").String() + grace)}
	case string(jobs.ByCancel):
		return &views.Reason{Icon: "circle-stop", Tone: ui.Bad, Text: ui.Text(byText("Asked to stop", tenancy.Credit(lease.DirectiveBy, tenancy.Actor{}), "").String() + grace)}
	case "warn":
		return warnReason(lease)
	case "drain":
		return &views.Reason{Icon: "log-out", Text: ui.Text("Its factory drains, this job may end")}
	default:
		if lease.WarnedAt != nil {
			return warnReason(lease)
		}
		return nil
	}
}

// warnReason says that the agent was told of its time; that is still so when it
// has acknowledged.
func warnReason(lease *jobs.Lease) *views.Reason {
	text := byText("Long past its estimate", "", "")
	if lease.Directive == "warn" && lease.DirectiveReason != "" {
		text = byText("Warned", "", lease.DirectiveReason)
	}
	return &views.Reason{Icon: "clock-alert", Tone: ui.Warn, Text: text}
}

// standing fills in the last line of a job that waits.
func (l look) standing(m *views.Card, j jobs.Job, why kanban.Reason) {
	m.FootWord, m.Foot = "waiting", ui.For(j.StatusAt, l.now)
	switch j.Status {
	case jobs.Ready:
		m.FootWord, m.FootLate = "ready", why.Code == kanban.CodeNoFactory
		if j.ReadyAt != nil {
			m.Foot = ui.For(*j.ReadyAt, l.now)
		}
	case jobs.Paused:
		m.FootWord = "paused"
	case jobs.Blocked:
		m.FootWord = "blocked"
		if j.Asks() {
			m.FootWord, m.Foot = "asked", ui.Ago(j.StatusAt, l.now)
		}
	case jobs.InReview:
		m.FootWord, m.FootLate = "in review", l.now.Sub(j.StatusAt) >= lateReview
	case jobs.Approved:
		m.FootWord, m.Foot = "approved", ui.Ago(j.StatusAt, l.now)
	case jobs.Waiting:
		if why.Until != nil && why.Until.After(l.now) && why.Code == kanban.CodeNotBefore {
			m.FootWord, m.Foot = "starts", ui.In(*why.Until, l.now)
		}
	}
}

// finished fills in the row of a job that is over.
func (l look) finished(m *views.Card, j jobs.Job) {
	m.Ended = ui.For(j.StatusAt, l.now)
	switch j.Status {
	case jobs.Failed:
		m.Sub, m.SubTone = firstLine(j.LastError, maxSub), ui.Bad
	case jobs.Aborted:
		m.Sub = byText("cancelled", tenancy.Credit(j.StatusBy, j.CarriedOutBy), "").String()
	default:
		m.Sub = placeOf(j)
	}
}
