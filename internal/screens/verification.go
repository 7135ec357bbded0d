package screens

import (
	"cmp"

	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// verificationReason reads who verifies a job in review, since when, or why nobody does.
func verificationReason(r *reader, j jobs.Job) (*Reason, error) {
	why := &Reason{Code: CodeVerification, Since: &j.StatusAt, Verification: Verification{State: VerificationNotMade,
		Verdict: j.Verdict, Commit: j.HandedIn(), Round: j.Round}}
	rows, err := q.JobVerifyOfWork(r.ctx, r.tx, r.workspace, j.ID, j.Epoch)
	switch {
	case err != nil:
		return nil, err
	case j.HandedIn() == "":
		why.Verification.State = VerificationNoWork
		return why, nil
	case len(rows) == 0:
		if j.Verdict != "" { // of the same commit, as it was handed in before
			why.Verification.State = VerificationSaid
		}
		return why, nil
	}
	row := rows[0]
	why.Keys, why.Since = []string{row.Key}, &row.CreatedAt
	switch status := jobs.Status(row.Status); {
	case j.Verdict != "":
		why.Verification.State, why.Since = VerificationSaid, row.DecidedAt
		why.By = tenancy.Actor{Kind: tenancy.KindAgent, Name: row.SaidBy}
	case status.Finished():
		why.Verification.State, why.Text = VerificationEnded, row.LastError
	case status.Leased():
		why.Verification.State, why.Since = VerificationWorks, row.ClaimedAt
		why.By, why.Factories = tenancy.Actor{Kind: tenancy.KindAgent, Name: row.Agent}, []string{row.Factory}
	case status == jobs.Ready:
		return verifierReason(r, why, row.Key)
	default:
		why.Verification.State = VerificationHeld
	}
	return why, nil
}

// verifierReason says of a verify job that is ready whether anybody may have it.
func verifierReason(r *reader, why *Reason, key string) (*Reason, error) {
	verify, err := jobs.LoadTx(r.ctx, r.tx, r.workspace, key)
	if err != nil {
		return nil, err
	}
	list, err := r.poolList()
	if err != nil {
		return nil, err
	}
	found := routeReason(r.route(verify.LaneID, toNeeds(verify)))
	why.Verification.State = VerificationWaits
	if found.Code == CodeNoFactory && !pools.Startable(list, verify.Product, toNeeds(verify), r.snap).IsExpected() {
		why.Verification.State = VerificationNobody
		why.Missing, why.Nearest, why.Text = found.Missing, found.Nearest, cmp.Or(why.Text, found.Text)
	}
	return why, nil
}
