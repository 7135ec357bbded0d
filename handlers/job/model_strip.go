package job

import (
	"strconv"
	"time"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/ui"
)

// strip returns the row of figures of a job that an agent works on.
func (s pageData) strip() []view.StripItem {
	if s.job.Lease == nil {
		return nil
	}
	return []view.StripItem{s.worker(), s.progress(), s.lease(), s.elapsed(), s.cost()}
}

func (s pageData) worker() view.StripItem {
	l := s.job.Lease
	m := view.StripItem{Label: "Working on it", Value: l.Agent, Rest: "on " + l.Factory}
	for _, f := range s.Fleet.Factories {
		for _, a := range f.Agents {
			if a.ID == l.AgentID {
				m.Note, m.NoteWhen = ui.Text("heartbeat"), ui.Ago(a.LastHeartbeatAt, s.now)
				m.Beat, m.NoteTone = jobparts.HeartbeatTones(a.Health)
			}
		}
	}
	return m
}

func (s pageData) progress() view.StripItem {
	j := s.job
	m := view.StripItem{Label: "Progress", Wide: true, Value: "Started", Rest: web.FirstLine(j.CurrentStep, web.MaxQuote)}
	if j.Status == jobs.Assigned {
		m.Value = "Not started"
	}
	if j.ProgressPercent != nil {
		m.Value, m.Bar, m.Percent = web.PercentWord(j.ProgressPercent), true, *j.ProgressPercent
	}
	if j.ProgressAt != nil {
		m.NoteWhen = ui.Ago(*j.ProgressAt, s.now)
		if s.now.Sub(*j.ProgressAt) >= jobparts.LateProgress {
			m.NoteTone = ui.Warn
		}
	}
	if d := reason.DirectiveReason(j, s.now); d != nil {
		m.Note, m.NoteTone = d.Text, d.Tone
		m.NoteWhen = ui.When{}
	}
	return m
}

func (s pageData) lease() view.StripItem {
	l := s.job.Lease
	return view.StripItem{Label: "Lease", Clock: ui.Left(l.ExpiresAt, s.now), Rest: "left",
		Note: ui.Text("epoch " + strconv.FormatInt(l.Epoch, 10) + ", until"), NoteWhen: ui.At(l.ExpiresAt)}
}

func (s pageData) elapsed() view.StripItem {
	m := view.StripItem{Label: "Elapsed", Clock: ui.Run(s.job.Lease.ClaimedAt, s.now)}
	if est := s.job.EstimatedMinutes; est != nil {
		m.Rest = "of about " + ui.Duration(time.Duration(*est)*time.Minute)
	}
	m.Over = ui.OverEstimate(s.job.Lease.ClaimedAt, s.job.EstimatedMinutes, s.now)
	if earlier := s.worked(); earlier > 0 {
		m.Note = ui.Text("after " + ui.Duration(earlier) + " in earlier attempts")
	}
	return m
}

// cost returns what all attempts have cost, and what is expected.
func (s pageData) cost() view.StripItem {
	m := view.StripItem{Label: "Cost", Value: jobparts.Cost(s.Used.Spent), Rest: "of about " + s.Money.Expected.P50.String()}
	if m.Value == "" {
		m.Value = spend.Nanos(0).String()
	}
	if s.Used.Spent.Since > 0 {
		m.Note = ui.Text(s.Used.Spent.Since.String() + " since the last progress")
	}
	if s.Money.Expected.Source == estimates.History && s.Used.Spent.Cost > s.Money.Expected.P90 {
		m.Note, m.NoteTone = ui.Text("more than nine of ten such jobs"), ui.Warn
	}
	return m
}

// worked returns the time of the attempts that have ended.
func (s pageData) worked() time.Duration {
	var sum time.Duration
	for _, a := range s.Attempts {
		if a.EndedAt != nil {
			sum += a.EndedAt.Sub(a.ClaimedAt)
		}
	}
	return sum
}
