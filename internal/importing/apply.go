package importing

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"fleetboard/handlers/api/apiclient"
	"fleetboard/internal/client"
)

// A request makes at most so many jobs, with about so many bytes.
const (
	maxBatch = 200
	maxBytes = 200 << 10
)

// Apply carries a difference out. Where it is cut short, planning and applying again does the rest.
func Apply(ctx context.Context, to *client.Client, d Difference) error {
	var batch []apiclient.NewJob
	size := 0
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := create(ctx, to, batch)
		batch, size = nil, 0
		return err
	}
	for _, job := range inOrder(d.Steps) {
		raw, err := encoded(job)
		if err != nil {
			return err
		}
		if len(batch) == maxBatch || size+len(raw) > maxBytes {
			if err := send(); err != nil {
				return err
			}
		}
		batch, size = append(batch, job), size+len(raw)
	}
	if err := send(); err != nil {
		return err
	}
	for _, s := range d.Steps {
		if s.Patch == nil {
			continue
		}
		raw, err := encoded(s.Patch)
		if err != nil {
			return err
		}
		var job json.RawMessage
		if err := read(&job)(to.PatchJobWithBody(ctx, s.Key, "application/json", bytes.NewReader(raw))); err != nil {
			return fmt.Errorf("change %s from line %d: %w", s.Key, s.Line, err)
		}
	}
	return nil
}

// encoded is JSON in which < and & take one byte.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// create makes jobs, all or none. The same jobs have the same key, so that a request whose
// answer was lost is safe to repeat.
func create(ctx context.Context, to *client.Client, batch []apiclient.NewJob) error {
	raw, err := encoded(apiclient.NewJobs{Jobs: batch})
	if err != nil {
		return err
	}
	hash := sha256.Sum256(raw)
	key := "import-" + hex.EncodeToString(hash[:])
	var made json.RawMessage
	params := &apiclient.CreateJobsParams{IdempotencyKey: &key}
	return read(&made)(to.CreateJobsWithBody(ctx, params, "application/json", bytes.NewReader(raw)))
}

// inOrder are the new jobs, each after those that it depends on.
func inOrder(steps []Step) []apiclient.NewJob {
	at := map[string]int{}
	for i, s := range steps {
		if s.Job != nil {
			at[s.Key] = i
		}
	}
	var jobs []apiclient.NewJob
	seen := map[string]bool{}
	var visit func(s Step)
	visit = func(s Step) {
		if seen[s.Key] {
			return
		}
		seen[s.Key] = true
		if s.Job.DependsOn != nil {
			for _, key := range *s.Job.DependsOn {
				if i, isNew := at[key]; isNew {
					visit(steps[i])
				}
			}
		}
		jobs = append(jobs, *s.Job)
	}
	for _, s := range steps {
		if s.Job != nil {
			visit(s)
		}
	}
	return jobs
}
