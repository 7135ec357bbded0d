package board

import (
	"strconv"
	"strings"
	"time"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/board"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// boardView is how one reader sees the board: what narrows it and what he may do.
type boardView struct {
	filter   links.Filter
	canWrite bool
	now      time.Time
	snap     fleet.Snapshot
}

// Card shows one job.
func (l boardView) card(c screens.Card) view.Card {
	j := c.Job
	m := view.Card{
		Key: j.Key, Title: j.Title, URL: links.Job(j.Key), Column: string(screens.StatusColumn(j.Status)),
		Status: jobparts.ShownStatus(j), Percent: web.Percent(j.ProgressPercent), Place: jobparts.Place(j),
		Priority: j.Priority, Version: j.Version, MoveURL: links.JobMove(j.Key),
	}
	switch {
	case j.Lease != nil:
		l.working(&m, j)
		m.Collision = reason.Collision(c.Collisions)
	case j.Status.Finished():
		l.finished(&m, j)
	default:
		m.Reason = reason.Model(j, c.Why, l.now)
		l.setWaitLine(&m, j, c.Why)
	}
	l.verified(&m, c)
	cost(&m, c.Spent)
	if j.LostCount > 0 && !j.Status.Finished() {
		m.Lost = "lost " + strconv.Itoa(j.LostCount) + "×"
		m.LostTitle = "Its lease was lost " + web.Plural(j.LostCount, "time",
			"times") + "; after more than " + strconv.Itoa(j.MaxLost) + " it fails"
	}
	if l.canWrite {
		m.Moves = jobparts.Moves(j, c.Moves)
		m.Actions, m.Ways = besideMoves(jobparts.Actions(j), c.Moves), jobparts.Ways(j)
		if j.Status == jobs.Ready {
			m.RankURL, m.Order = links.JobRank(j.Key), strconv.Itoa(j.Priority)+" "+j.Product
		}
		if c.Why.Code == screens.CodeQuestion {
			m.Answer = links.JobQuestion(j.Key)
		}
	}
	m.Digest = digest(m)
	return m
}

// muchSince is how much may be spent since the last progress before it stands out.
const muchSince = spend.Nanos(1_000_000_000)

// cost fills in what was spent on a job, and how much of it since its last progress.
func cost(m *view.Card, s spend.Spent) {
	m.Cost = jobparts.Cost(s)
	if s.Since <= 0 || m.Elapsed.IsZero() {
		return
	}
	if s.Since >= muchSince {
		m.MuchSince = s.Since.String() + " spent since the last progress"
		return
	}
	m.CostSince = "+" + strings.TrimPrefix(s.Since.String(), "$")
}

// besideMoves leaves out the actions that the moves already offer.
func besideMoves(actions []ui.Action, moves []screens.Move) []ui.Action {
	var list []ui.Action
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
func (l boardView) working(m *view.Card, j jobs.Job) {
	m.Agent, m.Factory = j.Lease.Agent, j.Lease.Factory
	m.Notice = reason.DirectiveReason(j, l.now)
	if j.Status == jobs.Assigned {
		m.Step, m.Progress = "Assigned, not started", ui.For(j.Lease.ClaimedAt, l.now)
		return
	}
	m.Elapsed = ui.For(j.Lease.ClaimedAt, l.now)
	if m.Notice == nil {
		m.Over = ui.OverEstimate(j.Lease.ClaimedAt, j.EstimatedMinutes, l.now)
	}
	m.Step = web.FirstLine(j.CurrentStep, web.MaxQuote)
	if m.Step == "" && m.Percent < 0 {
		m.Step = "Started"
	}
	if j.ProgressAt != nil {
		m.Progress = ui.Ago(*j.ProgressAt, l.now)
		m.ProgressLate = l.now.Sub(*j.ProgressAt) >= jobparts.LateProgress
	}
}

// setWaitLine fills in the last line of a job that waits.
func (l boardView) setWaitLine(m *view.Card, j jobs.Job, why screens.Reason) {
	m.FootWord, m.Foot = "waiting", ui.For(j.StatusAt, l.now)
	switch j.Status {
	case jobs.Ready:
		m.FootWord, m.FootLate = "ready", why.Code == screens.CodeNoFactory
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
		reviewed(m, j)
		m.FootWord, m.FootLate = "in review", l.now.Sub(j.StatusAt) >= jobparts.LateReview
	case jobs.Approved:
		m.FootWord, m.Foot = "approved", ui.Ago(j.StatusAt, l.now)
	case jobs.Waiting:
		if word := reason.Foot(why, l.now); word != "" {
			m.FootWord, m.Foot = word, ui.In(*why.Until, l.now)
		}
	}
}

// reviewed says how much there is to look at.
func reviewed(m *view.Card, j jobs.Job) {
	size := jobparts.ChangeSize(j)
	if size.Files > 0 {
		m.Files = web.Plural(size.Files, "file", "files")
	}
	if size.Counted {
		m.Added, m.Deleted = "+"+ui.Count(size.Added), "−"+ui.Count(size.Deleted)
	}
	if note := jobparts.Criteria(j, false).Note; note != "" {
		m.Criteria = note + " met"
	}
	if m.Files+m.Added != "" {
		m.Reason = nil // the size says what waits
	}
}

// verified fills in how far the verification of a job's work is, or what a verify job verifies.
func (l boardView) verified(m *view.Card, c screens.Card) {
	switch {
	case c.Verified != nil:
		m.Verified, m.Reason = jobparts.VerifiedLine(*c.Verified, l.now), nil
		m.FootLate = m.FootLate && !c.Verified.IsOpen()
	case c.Job.Verifies != "" && !c.Job.Status.Finished():
		m.Verified = &viewparts.Reason{Icon: "eye", Text: ui.Say(ui.T("Verifies "), ui.Link(c.Job.Verifies, links.Job(c.Job.Verifies)))}
	}
}

// finished fills in the row of a job that is over.
func (l boardView) finished(m *view.Card, j jobs.Job) {
	m.Ended = ui.For(j.StatusAt, l.now)
	switch j.Status {
	case jobs.Failed:
		m.Sub, m.SubTone = web.FirstLine(j.LastError, web.MaxSub), ui.Bad
	case jobs.Aborted:
		m.Sub = reason.ByText("cancelled", tenancy.Credit(j.StatusBy, j.CarriedOutBy), "").String()
	default:
		m.Sub = jobparts.Place(j)
	}
}
