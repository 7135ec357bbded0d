package worker

import (
	"context"
	"encoding/json"
	"math/big"
	"path/filepath"
	"strconv"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// marker returns a variable that all processes have that this worker starts.
func (w *Worker) marker() string { return "FLEETBOARD_WORKER=" + w.State }

// environment is that of the programs of an attempt.
func (a *attempt) environment() []string {
	return environment(
		a.w.Pass,
		a.w.marker(),
		a.attemptMarker(),
		"FLEETBOARD_JOB="+a.job.Key,
		"FLEETBOARD_EPOCH="+strconv.FormatInt(a.lease.epoch, 10),
		"FLEETBOARD_JOB_FILE="+filepath.Join(a.scratch, recordFile),
		"TMPDIR="+a.scratch,
	)
}

// attemptMarker returns a variable that all processes of this attempt have.
func (a *attempt) attemptMarker() string {
	return "FLEETBOARD_ATTEMPT=" + filepath.Join(a.w.State, a.at.Name())
}

// script returns what the scripted engine plays: the job's own, or its command.
func script(job api.Job) []byte {
	in := readInput(job)
	if s := in[scriptKey]; s != nil {
		return s
	}
	var command string
	if json.Unmarshal(in[commandKey], &command) != nil || command == "" {
		return nil
	}
	raw, err := json.Marshal(map[string]any{"steps": []map[string]string{{"step": "runs " + command, "run": command}}})
	if err != nil {
		return nil // a text only
	}
	return raw
}

// mayCost returns what an attempt on a job may spend, in dollars: what is left of the job's own budget,
// or of those that the claim named, whichever is less. It is "" where nothing limits it.
func mayCost(job api.Job) string {
	var least *big.Rat
	limit := func(r *big.Rat) {
		if r != nil && (least == nil || r.Cmp(least) < 0) {
			least = r
		}
	}
	if own := dollars(job.BudgetUSD); own != nil {
		if spent := dollars(job.SpentUSD); spent != nil {
			own.Sub(own, spent)
		}
		limit(own)
	}
	if b := job.Budget; b != nil {
		if slice, more := dollars(&b.SliceUSD), dollars(&b.RemainingUSD); slice != nil && more != nil {
			limit(slice.Add(slice, more))
		}
	}
	if least == nil || least.Sign() <= 0 {
		return ""
	}
	return least.FloatString(6)
}

// dollars reads an amount; nil where there is none.
func dollars(s *string) *big.Rat {
	if s == nil {
		return nil
	}
	r, ok := new(big.Rat).SetString(*s)
	if !ok {
		return nil
	}
	return r
}

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
