package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// RevealedInput returns the input context as the holder of the lease reads it: with
// the values of Secrets. It is for the claim's answer and nothing else.
func (j Job) RevealedInput() (json.RawMessage, error) {
	open, err := j.Secrets.Reveal(j.InputContext)
	if err != nil {
		return nil, fmt.Errorf("input context of %s: %w", j.Key, err)
	}
	return open, nil
}

// RevealTx adds to jobs the values of their secrets, for the holder of their
// leases. Jobs without secrets cost nothing. Where a value is not there or does
// not open in its place, the job is left out, and returned as broken.
// Unavailable where this process was not given the server's key for them.
func (s *Service) RevealTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Job) (revealed, broken []Job, err error) {
	var asked []ids.ID
	for _, j := range list {
		if len(j.SecretKeys) > 0 {
			asked = append(asked, j.ID)
		}
	}
	if len(asked) == 0 {
		return list, nil, nil
	}
	opened, err := s.Secrets.OpenTx(ctx, tx, workspace, asked)
	if err != nil {
		return nil, nil, err
	}
	for _, j := range list {
		if j.Secrets = opened[j.ID]; j.Secrets.Complete(j.SecretKeys) {
			revealed = append(revealed, j)
		} else {
			broken = append(broken, j)
		}
	}
	return revealed, broken, nil
}
