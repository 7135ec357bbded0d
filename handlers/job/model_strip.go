package job

import (
	"cmp"
	"strconv"
	"time"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	view "github.com/fleetboard/fleetboard/views/job"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// ended reports whether the job is handed in or over.
func (s pageData) ended() bool {
	j := s.job
	return j.Lease == nil && (j.Status == jobs.InReview || j.Status == jobs.Approved || j.Status.Finished())
}

// strip returns the row of figures of a job that an agent works on, or has worked on to the end.
func (s pageData) strip(c *viewparts.Changes) []view.StripItem {
	switch {
	case s.ended() && len(s.Attempts) > 0:
		return s.ending(c)
	case s.job.Lease == nil:
		return nil
	}
	return []view.StripItem{s.worker(), s.progress(), s.lease(), s.elapsed(), s.cost()}
}

// ending returns what the work came to in figures: the change, how long it took, what it cost,
// and the commit.
func (s pageData) ending(c *viewparts.Changes) []view.StripItem {
	j, list := s.job, []view.StripItem(nil)
	if c != nil {
		m := view.StripItem{Label: "Changed", Value: web.Plural(c.Count, "file", "files"),
			Note: ui.Say(ui.Link("Show the changes", "#changes"))}
		if c.Counted {
			m.Value, m.Rest = "+"+ui.Count(c.Added)+" −"+ui.Count(c.Deleted), m.Value
		}
		list = append(list, m)
	}
	took := view.StripItem{Label: "Took", Value: ui.Duration(s.worked()), Note: ui.Text("ended"), NoteWhen: ui.Ago(j.StatusAt, s.now)}
	if n := len(s.Attempts); n > 1 {
		took.Rest = "in " + web.Plural(n, "attempt", "attempts")
	}
	cost := view.StripItem{Label: "Cost", Value: cmp.Or(jobparts.Cost(s.Used.Spent), spend.Nanos(0).String())}
	if len(s.Models) > 0 {
		cost.Note = ui.Text(s.Models[0].Model)
	}
	list = append(list, took, cost)
	said := jobparts.ReadResult(j)
	switch {
	case j.MergedCommit != "":
		m := view.StripItem{Label: "Merged as", Value: jobparts.ShortCommit(j.MergedCommit)}
		if by := s.merge(); by != nil {
			m.Note = append(ui.Text("by "), by.Job...)
		}
		list = append(list, m)
	case said.Commit != "":
		list = append(list, view.StripItem{Label: "Commit", Value: jobparts.ShortCommit(said.Commit),
			Note: ui.Text(web.FirstLine(said.Branch, web.MaxQuote))})
	}
	return list
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
