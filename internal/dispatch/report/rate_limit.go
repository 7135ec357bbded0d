package report

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// learnProvider finds out whose rate limit a failure is about, in a transaction of its
// own: agents are locked before jobs. It is "" where nobody knows.
func (s *Service) learnProvider(ctx context.Context, who tenancy.Principal, ref lease.Ref, f Failure) (provider string, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		named, err := jobsByName(ctx, tx, who.Workspace, []string{ref.Job})
		if err != nil {
			return err
		}
		red, err := s.jobs.Secrets.RedactorTx(ctx, tx, who.Workspace, named[ref.Job])
		if err != nil {
			return err
		}
		if red.Text(f.Provider) != f.Provider {
			return fault.Invalid("provider", "It must not hold the value of a secret of the job.")
		}
		provider, err = agentProvider(ctx, tx, who, leaseName{named[ref.Job], ref.Epoch}, f.Provider)
		return err
	})
	return provider, err
}

// judgeFailure says what becomes of a job whose attempt has failed. What is its host's costs
// it nothing. With a rate limit the provider is held for the time that it requests, for the
// agents of the same enrolment token.
func judgeFailure(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked, f Failure) (jobs.Decision, error) {
	kind := jobs.ParseFailureKind(f.Kind)
	if !kind.IsHosts() {
		return job.Fail(f.Retryable, kind, f.Error)
	}
	wait := f.RetryAfter
	if !f.isRateLimit() {
		before, err := handedBack(ctx, tx, who.Workspace, job.Job)
		if err != nil {
			return jobs.Decision{}, err
		}
		wait = jobs.HostWait(before)
	}
	d, err := job.FailOfHost(kind, wait, f.Error)
	if err != nil || !f.holdsProvider() {
		return d, err
	}
	until, err := holdProvider(ctx, tx, who, f.Provider, f.RetryAfter)
	if err != nil {
		return d, err
	}
	d.Payload["provider"] = f.Provider
	return d, eventlog.RecordTx(ctx, tx, who, eventlog.ProviderHeld, map[string]any{"provider": f.Provider, "until": until, "job": job.Key})
}

func (f Failure) isRateLimit() bool { return f.Kind == string(jobs.FailedRateLimit) }

// holdsProvider reports whether the agents of a provider are to be given no jobs for a
// time.
func (f Failure) holdsProvider() bool { return f.isRateLimit() && f.RetryAfter > 0 && f.Provider != "" }
