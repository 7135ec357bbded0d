package worker

import (
	"context"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// chooseModel returns the model that an engine is to run a job with, and why: what the job's product
// names for its tier, else what this worker's own table names, else the worker's default, which may
// be "" and so the engine's own. What is no name of a model counts as none, whoever says it.
func (w *Worker) chooseModel(engine string, job api.Job) api.ModelRun {
	tier := job.Tier
	run := api.ModelRun{Engine: engine, Name: w.Model, Why: api.ModelByDefault}
	if tier != api.TierEmpty {
		run.Tier = &tier
	}
	if name := tiermodel.Table(job.Models).Find(engine, string(tier)); name != "" {
		run.Name, run.Why = name, api.ModelNamedByProduct
	} else if name := w.Models.Find(engine, string(tier)); name != "" {
		run.Name, run.Why = name, api.ModelNamedByWorker
	}
	return run
}

// tellModel tells the server which model the attempt runs, before it does: an attempt that is over
// soon has it, too. A server whose claims have no models does not know what is told here.
func (a *attempt) tellModel(ctx context.Context) {
	if a.job.Models == nil {
		return
	}
	answer, err := a.w.api.StartJobWithResponse(ctx, api.StartReport{Job: a.job.Key, Epoch: a.lease.epoch, Model: &a.model})
	switch {
	case api.Refused(err, api.ProblemCodeStaleEpoch, api.ProblemCodeLeaseExpired, api.ProblemCodeSuperseded):
		a.lease.end(whyFenced, err.Error())
	case !api.Decided(err):
		a.reporter.model(&a.model) // with the next report that arrives
	case isRefusedForForm(err):
		a.reporter.log("WARNING", "model", "The server did not take which model runs: "+err.Error())
	case err == nil:
		a.lease.obey(answer.JSON200.Directive, answer.JSON200.Reason)
	}
}
