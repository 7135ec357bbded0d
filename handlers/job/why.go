package job

import (
	"slices"
	"strconv"

	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/ui"
)

// reason returns the panel that says why the job does not run; nil for one that
// does, or that has nothing left to run for.
func (s pageData) reason() *view.Why {
	j := s.job
	switch {
	case j.Status == jobs.Completed:
		return s.refusal()
	case j.Lease != nil:
		return s.atWork()
	case len(s.Why.Reasons) == 0, j.Status == jobs.Archived:
		return nil
	case j.Status == jobs.Failed:
		return s.failure()
	case j.Status == jobs.Aborted:
		return &view.Why{Icon: "circle-x", Title: reason.ByText(j.Key+" was cancelled",
			tenancy.Credit(j.StatusBy, j.CarriedOutBy), j.LastError).String(), Lines: s.next(screens.Reason{Code: screens.CodeAborted})}
	}
	first := s.Why.Reasons[0]
	if at := slices.IndexFunc(s.Why.Reasons, expectsFactory); at > 0 && first.Code == screens.CodeNoFactory {
		first = s.Why.Reasons[at]
	}
	shown := reason.Model(j, first, s.now)
	m := &view.Why{Icon: shown.Icon, Tone: shown.Tone, Title: reason.Title(j, first)}
	for _, r := range s.Why.Reasons {
		if r.Code != screens.CodeQuestion { // it stands below, as a whole
			m.Lines = append(m.Lines, reason.Text(j, r, s.now))
		}
		m.Lines = append(m.Lines, s.next(r)...)
		switch r.Code {
		case screens.CodeNoFactory, screens.CodeSeatsTaken, screens.CodeAgentsBusy:
			m.Rows = s.routingRows()
		}
	}
	return m
}

// expectsFactory reports whether a reason is that a pool will have a factory for the job.
func expectsFactory(r screens.Reason) bool {
	return r.Code == screens.CodeCanBeStarted || r.Code == screens.CodePoolAtMaximum
}

// atWork says to which job one that an agent works on is to give its seat, and which others touch the same
// files; nil for neither.
func (s pageData) atWork() *view.Why {
	touching := s.collisions()
	at := slices.IndexFunc(s.Why.Reasons, func(r screens.Reason) bool { return r.Code == screens.CodePreemptPending })
	if at < 0 {
		return touching
	}
	asked := s.Why.Reasons[at]
	shown := reason.Model(s.job, asked, s.now)
	m := &view.Why{Icon: shown.Icon, Tone: shown.Tone, Title: reason.Title(s.job, asked), Lines: []ui.Sentence{shown.Text}}
	if touching != nil {
		m.Lines = append(m.Lines, touching.Lines...)
	}
	return m
}

// collisions says which other jobs that are worked on touch the same files; nil where none does.
func (s pageData) collisions() *view.Why {
	shown := reason.Collision(s.Collisions)
	if shown == nil {
		return nil
	}
	m := &view.Why{Icon: shown.Icon, Tone: shown.Tone, Title: web.Plural(len(s.Collisions), "job", "jobs") + " at work " +
		map[bool]string{true: "touches", false: "touch"}[len(s.Collisions) == 1] + " the same files"}
	for _, c := range s.Collisions {
		m.Lines = append(m.Lines, append(reason.CollisionLine(c), ui.T(", since "), ui.Moment(ui.Ago(c.Since, s.now))))
	}
	return m
}

// refusal says that the origin did not take the branch of work that is done; nil where it did.
func (s pageData) refusal() *view.Why {
	for _, r := range s.Why.Reasons {
		if r.Code == screens.CodeDeliveryRefused {
			shown := reason.Model(s.job, r, s.now)
			return &view.Why{Icon: shown.Icon, Tone: shown.Tone, Title: s.job.Key + " is done, and its branch was refused",
				Lines: []ui.Sentence{shown.Text}}
		}
	}
	return nil
}

func (s pageData) failure() *view.Why {
	j := s.job
	m := &view.Why{Icon: "octagon-alert", Tone: ui.Bad, Title: j.Key + " failed"}
	switch {
	case s.Why.Reasons[0].Code == screens.CodeDependencyCycle:
		m.Title += ", it waited for itself"
		m.Lines = append([]ui.Sentence{ui.Text(web.FirstLine(s.Why.Reasons[0].Text, web.MaxQuote))},
			s.next(screens.Reason{Code: screens.CodeDependencyCycle})...)
		return m
	case j.LostCount > j.MaxLost:
		m.Title += ", it was lost too often"
	case j.FailureCount > j.MaxRetries:
		m.Title += ", its retries are used up"
	}
	if line := web.FirstLine(j.LastError, web.MaxQuote); line != "" {
		m.Lines = []ui.Sentence{ui.Text(line)}
	}
	m.Lines = append(m.Lines, s.next(screens.Reason{Code: screens.CodeFailed})...)
	return m
}

// next returns what the reader can do about it, one sentence or none.
func (s pageData) next(why screens.Reason) []ui.Sentence {
	if text := reason.Next(s.job, why); s.canWrite && text != nil {
		return []ui.Sentence{text}
	}
	return nil
}

// routingRows says of each factory whether it could run the job.
func (s pageData) routingRows() []view.WhyRow {
	var rows []view.WhyRow
	for _, f := range s.Why.Routing.Eligible {
		rows = append(rows, view.WhyRow{Name: f.Factory.Name, Text: "has all it needs",
			Remark: web.Plural(f.Free, "seat", "seats") + " free"})
	}
	for i, f := range s.Why.Routing.Ineligible {
		row := view.WhyRow{Name: f.Factory.Name, Text: reason.Misfit(f, s.job.Factory), Missing: f.Missing}
		switch {
		case i == 0 && len(s.Why.Routing.Eligible) == 0:
			row.Remark = "nearest miss"
		case len(f.Missing) > 0:
			row.Remark = "misses " + strconv.Itoa(len(f.Missing))
		}
		rows = append(rows, row)
	}
	return rows
}
