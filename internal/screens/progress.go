package screens

import (
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Progress is how far the verification of what a job was handed in with is.
type Progress struct {
	Key     string // of the verify job
	State   VerificationState
	Round   int        // the how manieth verification of the job it is; each that sends the work back begins the next
	Rounds  int        // after so many a person decides in any case
	Verdict string     // "" as long as nobody has said it
	Agent   string     // that verifies, or has given the verdict
	Factory string     // of that agent
	At      time.Time  // when the work was handed in
	Since   *time.Time // when its present agent, or else the last one, claimed it
	EndedAt *time.Time // when there was a verdict, or when it was closed without
	Error   string     // why it ended without a verdict
	// Of the verdict how many criteria there are and are met, and what all verifications of the job have
	// cost; both are not there in a Round, which has each of them.
	Judged, Met int
	Spent       spend.Nanos

	lane int64 // of the verify job
}

// verifications reads verifications in the transaction of a reader.
type verifications struct{ *reader }

// IsOpen reports whether somebody verifies the work, or may.
func (p Progress) IsOpen() bool {
	return p.State == VerificationWaits || p.State == VerificationWorks || p.State == VerificationHeld
}

// judge says how far a verification is, by the status of its job.
func (r verifications) judge(p *Progress, status jobs.Status) error {
	p.State = VerificationHeld
	switch {
	case p.Verdict != "":
		p.State = VerificationSaid
	case status.Finished() || p.EndedAt != nil:
		p.State = VerificationEnded
	case status.Leased():
		p.State = VerificationWorks
	case status == jobs.Ready:
		unroutable, err := r.unroutableLanes()
		if err != nil {
			return err
		}
		p.State = VerificationWaits
		if slices.ContainsFunc(unroutable, func(l lane) bool { return l.id == p.lane }) {
			p.State = VerificationNobody
		}
	}
	return nil
}

// progress reads how far the verifications of jobs are, of those in review whose product has work verified
// and that have one. It costs a statement where there are such jobs.
func (r verifications) progress(list []jobs.Job) (map[ids.ID]Progress, error) {
	var found []ids.ID
	var epochs []int64
	for _, j := range list {
		if j.Status == jobs.InReview && j.VerifyMode == jobs.VerifyByAgent {
			found, epochs = append(found, j.ID), append(epochs, j.Epoch)
		}
	}
	return r.readProgress(found, epochs)
}

// reason says how far a verification is as a reason of its work, with what keeps everybody from it where
// nobody may.
func (r verifications) reason(j jobs.Job, p Progress) Reason {
	why := Reason{Code: CodeVerification, Since: &p.At, Keys: []string{p.Key}, Verification: Verification{State: p.State,
		Verdict: p.Verdict, Commit: j.HandedIn(), Round: j.Round}}
	by := tenancy.Actor{Kind: tenancy.KindAgent, Name: p.Agent}
	switch p.State {
	case VerificationSaid:
		why.Since, why.By = p.EndedAt, by
	case VerificationWorks:
		why.Since, why.By, why.Factories = p.Since, by, []string{p.Factory}
	case VerificationEnded:
		why.Text = p.Error
	case VerificationNobody:
		if at := slices.IndexFunc(r.lanes, func(l lane) bool { return l.id == p.lane }); at >= 0 {
			l := r.lanes[at]
			found := routeReason(r.route(l.id, fleet.Needs{Capabilities: l.needs, Factory: l.factory}))
			why.Missing, why.Nearest, why.Text = found.Missing, found.Nearest, found.Text
		}
	}
	return why
}

// verificationReason reads who verifies a job in review, since when, or why nobody does.
func (r verifications) verificationReason(j jobs.Job) (*Reason, error) {
	known, err := r.progress([]jobs.Job{j})
	if err != nil {
		return nil, err
	}
	if p, verified := known[j.ID]; verified && j.HandedIn() != "" {
		return new(r.reason(j, p)), nil
	}
	why := &Reason{Code: CodeVerification, Since: &j.StatusAt, Verification: Verification{State: VerificationNotMade,
		Verdict: j.Verdict, Commit: j.HandedIn(), Round: j.Round}}
	switch {
	case j.HandedIn() == "":
		why.Verification.State = VerificationNoWork
	case j.Verdict != "": // of the same commit, as it was handed in before
		why.Verification.State = VerificationSaid
	}
	return why, nil
}
