package screens

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// readProgress reads how far the verifications of jobs are that were handed in with some epochs.
func (r verifications) readProgress(list []ids.ID, epochs []int64) (map[ids.ID]Progress, error) {
	if len(list) == 0 {
		return nil, nil
	}
	rows, err := q.VerificationsNow(r.ctx, r.tx, list, epochs, r.workspace)
	known := make(map[ids.ID]Progress, len(rows))
	for _, row := range rows {
		p := Progress{Key: row.Key, Round: row.RoundsBefore + 1, Rounds: row.VerifyRounds + 1, Verdict: row.Verdict,
			Agent: cmp.Or(row.SaidBy, row.Agent), Factory: row.Factory, At: row.CreatedAt, Since: row.ClaimedAt, EndedAt: row.DecidedAt,
			Error: row.LastError, Judged: row.Criteria, Met: row.CriteriaMet, Spent: spend.Nanos(row.ChargedNanos), lane: row.LaneID}
		if err := r.judge(&p, jobs.Status(row.Status)); err != nil {
			return nil, err
		}
		known[row.JobID] = p
	}
	return known, wrapped("verifications", err)
}

// readRounds reads the verifications of a job that were made for attempts before one, the newest first.
func (r verifications) readRounds(job ids.ID, before int64, limit int) ([]Round, error) {
	rows, err := q.VerificationList(r.ctx, r.tx, r.workspace, job, before, limit)
	if err != nil {
		return nil, wrapped("the verifications of a job", err)
	}
	list := make([]Round, len(rows))
	for i, row := range rows {
		list[i] = Round{Progress: Progress{Key: row.Key, Round: row.RoundsBefore + 1, Rounds: row.VerifyRounds + 1, Verdict: row.Verdict,
			Agent: row.Agent, Factory: row.Factory, At: row.CreatedAt, Since: row.ClaimedAt, EndedAt: row.DecidedAt, Error: row.LastError,
			lane: row.LaneID}, Epoch: row.Epoch, Commit: row.Commit, Branch: row.Branch, Model: row.Model, SentBack: row.SentBack,
			Cost: spend.Nanos(row.ChargedNanos)}
		if err := json.Unmarshal(row.Criteria, &list[i].Criteria); err != nil {
			return nil, fmt.Errorf("decode criteria: %w", err)
		}
		if err := json.Unmarshal(row.Findings, &list[i].Findings); err != nil {
			return nil, fmt.Errorf("decode findings: %w", err)
		}
		if err := r.judge(&list[i].Progress, jobs.Status(row.Status)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readHeld reads why the policy leaves a job in review to a person; nil where it does not.
func (r *reader) readHeld(job jobs.Job) (*Reason, error) {
	if job.Status != jobs.InReview {
		return nil, nil
	}
	rows, err := q.JobPolicyHeld(r.ctx, r.tx, r.workspace, job.ID, job.StatusAt)
	if err != nil || len(rows) == 0 {
		return nil, wrapped("what the policy held", err)
	}
	return &Reason{Code: CodePolicyHeld, Since: &rows[0].At, Text: rows[0].Reason}, nil
}
