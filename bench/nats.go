package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// natsRates are messages a second of NATS JetStream, embedded, with a file store that syncs
// each message: one by one, and a hundred at once.
type natsRates struct {
	Single  float64 `json:"single"`
	Batches float64 `json:"batches"`
}

// nats measures JetStream; nil where it cannot be built here.
func (s *environment) nats(ctx context.Context, n int) (*natsRates, error) {
	program, err := buildBeside(ctx, s.dir, "nats")
	if err != nil {
		s.sayf("there is no NATS, since it cannot be built here: %v", err)
		return nil, nil
	}
	store := filepath.Join(s.dir, "nats-store")
	cmd := exec.CommandContext(ctx, program, store, strconv.Itoa(n)) // #nosec G204 -- our own program
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	rates := &natsRates{}
	if err := json.Unmarshal(out, rates); err != nil {
		return nil, fmt.Errorf("nats: %w: %s", err, out)
	}
	s.sayf("NATS JetStream, %d messages: %.0f messages/s, %.0f in batches", n, rates.Single, rates.Batches)
	return rates, os.RemoveAll(store)
}
