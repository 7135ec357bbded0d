package worker

import (
	"encoding/json"
	"math/big"
	"path/filepath"
	"strconv"

	"github.com/fleetboard/fleetboard/api"
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
