package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// checkDelivery returns all that is wrong with what is reported.
func checkDelivery(told attempts.Delivery) error {
	p := fault.Problems{}
	if !slices.Contains([]attempts.DeliveryState{attempts.Local, attempts.Pushed, attempts.Refused}, told.State) {
		p.Add("state", "It must be one of local, pushed, refused.")
	}
	p.Line("branch", told.Branch, attempts.MaxBranch)
	p.Line("commit", told.Commit, jobs.MaxCommit)
	if told.Commit == "" {
		p.Add("commit", "It must name the commit.")
	}
	p.Text("detail", told.Detail, attempts.MaxDetail)
	return p.Err()
}

// RecordDelivery takes what became of the commit of an attempt, also after its lease has ended, from
// any agent of the factory that had it, and returns what is known then: attempts.Delivery.After
// says what follows on what. Faults: Validation, NotFound, Forbidden, Superseded;
// InvalidTransition where it has changed too often.
func (s *Service) RecordDelivery(ctx context.Context, who tenancy.Principal, ref lease.Ref, told attempts.Delivery) (
	now attempts.Delivery, err error,
) {
	if err := errors.Join(lease.RequireAgent(who), ref.Check(), checkDelivery(told)); err != nil {
		return attempts.Delivery{}, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		now, err = s.deliverTx(ctx, tx, who, ref, told)
		return err
	})
	return now, err
}

func (s *Service) deliverTx(ctx context.Context, tx db.Tx, who tenancy.Principal, ref lease.Ref, told attempts.Delivery) (
	attempts.Delivery, error,
) {
	if _, err := lease.TouchTx(ctx, tx, who); err != nil {
		return attempts.Delivery{}, err
	}
	job, key, hasSecrets, err := jobOfLog(ctx, tx, who.Workspace, ref.Job)
	if err != nil {
		return attempts.Delivery{}, err
	}
	known, err := lockDelivery(ctx, tx, who, job, ref.Epoch)
	switch {
	case err != nil:
		return attempts.Delivery{}, err
	case !known.exists:
		return attempts.Delivery{}, fault.New(fault.NotFound, "%s has had no attempt %d.", key, ref.Epoch)
	case !known.ours:
		return attempts.Delivery{}, fault.New(fault.Forbidden, "Attempt %d on %s was another factory's.", ref.Epoch, key)
	}
	if hasSecrets {
		red, err := s.jobs.Secrets.RedactorTx(ctx, tx, who.Workspace, job)
		if err != nil {
			return attempts.Delivery{}, err
		}
		told = withoutSecrets(red, told)
	}
	now, changed := known.After(told)
	switch {
	case !changed:
		return now, nil
	case known.tellings >= attempts.MaxTellings:
		return attempts.Delivery{}, fault.New(fault.InvalidTransition,
			"What became of attempt %d on %s has changed %d times: no more is taken.", ref.Epoch, key, attempts.MaxTellings)
	}
	if now.At, err = writeDelivery(ctx, tx, who, job, ref.Epoch, now); err != nil {
		return attempts.Delivery{}, err
	}
	kind := eventlog.JobDelivered
	if now.State == attempts.Refused {
		kind = eventlog.JobDeliveryRefused
	}
	facts, err := json.Marshal(map[string]string{"state": string(now.State), "branch": now.Branch, "commit": now.Commit,
		"detail": now.Detail})
	if err != nil {
		return attempts.Delivery{}, fmt.Errorf("encode a delivery: %w", err)
	}
	return now, lease.AppendEvent(ctx, tx, who, eventlog.Event{Type: kind, JobID: &job, Epoch: &ref.Epoch, Payload: facts})
}

// withoutSecrets returns what is reported without the values of the job's secrets.
func withoutSecrets(red *redact.Redactor, told attempts.Delivery) attempts.Delivery {
	told.Branch, told.Commit = red.Cut(told.Branch, attempts.MaxBranch), red.Cut(told.Commit, jobs.MaxCommit)
	told.Detail = red.Cut(told.Detail, attempts.MaxDetail)
	return told
}
