package importing

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/fleetboard/fleetboard/api"
)

// A request makes at most so many jobs, with about so many bytes.
const (
	maxBatch = 200
	maxBytes = 200 << 10
)

// Refusal is a job that the server does not take or change, and why.
type Refusal struct {
	Step Step
	Err  error
}

// String names the job, the line and the reason.
func (r Refusal) String() string {
	return fmt.Sprintf("%s (line %d): %v", r.Step.Key, r.Step.Line, r.Err)
}

// Apply carries a difference out. A job that the server refuses does not stop the rest. Where
// it is cut short, planning and applying again does what is left.
func Apply(ctx context.Context, to *api.Client, d Difference) (refused []Refusal, err error) {
	a := applying{ctx: ctx, to: to}
	if err := a.create(inOrder(d.Steps)); err != nil {
		return a.refused, err
	}
	left := slices.DeleteFunc(slices.Clone(d.Steps), func(s Step) bool { return s.Patch == nil })
	if err := a.patch(left); err != nil {
		return a.refused, err
	}
	// Last, when nothing waits any more for what is cancelled.
	return a.refused, a.cancel(slices.DeleteFunc(slices.Clone(d.Steps), func(s Step) bool { return s.Action != Cancel }))
}

// applying is one Apply.
type applying struct {
	ctx     context.Context // lives as long as the call
	to      *api.Client
	refused []Refusal
}

// create makes jobs, as many at once as a request holds.
func (a *applying) create(steps []Step) error {
	var batch []Step
	size := 0
	for _, s := range steps {
		raw, err := encoded(s.Job)
		if err != nil {
			return err
		}
		if len(batch) == maxBatch || size+len(raw) > maxBytes {
			if err := a.send(batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
		batch, size = append(batch, s), size+len(raw)
	}
	return a.send(batch)
}

// send makes the jobs of a batch; where it is refused, one by one. The error is the last
// refusal where none of them is taken.
func (a *applying) send(batch []Step) error {
	if len(batch) == 0 {
		return nil
	}
	err := a.make(batch...)
	if !isRefusal(err) {
		return err
	}
	var refused []Refusal
	for _, s := range batch {
		if err = a.make(s); err != nil && !isRefusal(err) {
			return err
		}
		if err != nil {
			refused = append(refused, Refusal{s, err})
		}
	}
	if len(batch) > 1 && len(refused) == len(batch) {
		return err
	}
	a.refused = append(a.refused, refused...)
	return nil
}

// make makes jobs, all or none. Its idempotency key is for a request whose answer was lost.
func (a *applying) make(steps ...Step) error {
	var batch api.NewJobs
	for _, s := range steps {
		batch.Jobs = append(batch.Jobs, *s.Job)
	}
	raw, err := encoded(batch)
	if err != nil {
		return err
	}
	key := "import-" + rand.Text()
	var made json.RawMessage
	params := &api.CreateJobsParams{IdempotencyKey: &key}
	return read(&made)(a.to.CreateJobsWithBody(a.ctx, params, "application/json", bytes.NewReader(raw)))
}

// patch changes jobs. Those that are refused are tried again as long as others were not: a
// dependency may be in the way that another change takes away.
func (a *applying) patch(steps []Step) error {
	for {
		var refused []Refusal
		for _, s := range steps {
			err := a.change(s)
			if err != nil && !isRefusal(err) {
				return fmt.Errorf("change %s from line %d: %w", s.Key, s.Line, err)
			}
			if err != nil {
				refused = append(refused, Refusal{s, err})
			}
		}
		if len(refused) == 0 || len(refused) == len(steps) {
			a.refused = append(a.refused, refused...)
			return nil
		}
		steps = steps[:0]
		for _, r := range refused {
			steps = append(steps, r.Step)
		}
	}
}

// change changes a job.
func (a *applying) change(s Step) error {
	raw, err := encoded(s.Patch)
	if err != nil {
		return err
	}
	var job json.RawMessage
	return read(&job)(a.to.PatchJobWithBody(a.ctx, s.Key, "application/json", bytes.NewReader(raw)))
}

// cancel cancels jobs that nobody has begun meanwhile.
func (a *applying) cancel(steps []Step) error {
	for _, s := range steps {
		var job json.RawMessage
		err := read(&job)(a.to.CancelJob(a.ctx, s.Key, api.ReasonedAction{Reason: s.Why, Version: &s.version}))
		if err != nil && !isRefusal(err) {
			return fmt.Errorf("cancel %s from line %d: %w", s.Key, s.Line, err)
		}
		if err != nil {
			a.refused = append(a.refused, Refusal{s, err})
		}
	}
	return nil
}

// isRefusal reports whether the server refused the call, and may take another one.
func isRefusal(err error) bool {
	p, ok := errors.AsType[*api.Error](err)
	return ok && slices.Contains([]int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}, p.Status)
}

// encoded is JSON in which < and & take one byte.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// inOrder returns the steps that make jobs, each after those that it depends on.
func inOrder(steps []Step) []Step {
	at := map[string]int{}
	for i, s := range steps {
		if s.Job != nil {
			at[s.Key] = i
		}
	}
	var ordered []Step
	seen := map[string]bool{}
	var visit func(s Step)
	visit = func(s Step) {
		if seen[s.Key] {
			return
		}
		seen[s.Key] = true
		for _, key := range s.needs {
			if i, isNew := at[key]; isNew {
				visit(steps[i])
			}
		}
		ordered = append(ordered, s)
	}
	for _, s := range steps {
		if s.Job != nil {
			visit(s)
		}
	}
	return ordered
}
