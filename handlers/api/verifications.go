package api

import (
	"context"
	"strconv"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
	"github.com/fleetboard/fleetboard/internal/screens"
)

// ListVerifications gives a page of the verifications of a job's work, newest first.
func (s *historyHandlers) ListVerifications(ctx context.Context, r ListVerificationsRequestObject) (
	ListVerificationsResponseObject, error,
) {
	var before int64
	if cursor := value(r.Params.Cursor); cursor != "" {
		var err error
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before < 1 {
			return nil, fault.Invalid("cursor", "It must be one that this server gave out.")
		}
	}
	limit := screens.MaxRounds
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	found, more, err := s.Screens.Rounds(ctx, principal(ctx), r.Job, before, limit)
	if err != nil {
		return nil, err
	}
	next := ""
	if more {
		next = strconv.FormatInt(found[len(found)-1].Epoch, 10)
	}
	return ListVerifications200JSONResponse{Items: mapSlice(found, verificationModel), NextCursor: next}, nil
}

func verificationModel(r screens.Round) Verification {
	m := Verification{Job: r.Key, Status: VerificationOpen, Round: r.Round, Rounds: r.Rounds, Attempt: r.Epoch, Commit: r.Commit,
		Branch: r.Branch, Agent: r.Agent, Factory: r.Factory, Model: r.Model, At: r.At.UTC(),
		Since: utcOrNil(r.Since), EndedAt: utcOrNil(r.EndedAt),
		Verdict: r.Verdict, SentBack: r.SentBack, CostUSD: r.Cost.Fixed(),
		Criteria: mapSlice(r.Criteria, func(c verdict.Criterion) VerdictCriterion {
			return VerdictCriterion{Text: c.Text, Met: c.Met, Evidence: c.Evidence}
		}),
		Findings: mapSlice(r.Findings, func(f verdict.Finding) VerdictFinding {
			return VerdictFinding{Path: f.Path, Line: f.Line, Severity: f.Severity, Text: f.Text}
		})}
	switch r.State {
	case screens.VerificationSaid:
		m.Status = VerificationSaid
	case screens.VerificationEnded:
		m.Status, m.Error = VerificationClosed, r.Error
	}
	return m
}
