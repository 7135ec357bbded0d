package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const riverJobs = 100_000

// errNoRiver says that there is nothing to compare with on this machine.
var errNoRiver = errors.New("there is no River, since it cannot be built here")

// riverRates are jobs a second of River on the same PostgreSQL: inserted with
// InsertManyFast in batches of 1,000, and worked where they do nothing, each with
// the best of a few settings; and worked with River's default settings.
type riverRates struct {
	Inserted float64 `json:"inserted"`
	Worked   float64 `json:"worked"`
	Default  float64 `json:"worked_by_default"`
}

// river measures River once in a run of the bench.
func (s *environment) river(ctx context.Context) (*riverRates, error) {
	if s.beside != nil {
		return s.beside, nil
	}
	program, err := s.buildRiver(ctx)
	if err != nil {
		return nil, err
	}
	address, err := s.database(ctx, "bench_river")
	if err != nil {
		return nil, err
	}
	n := s.sized(riverJobs, submitBatch)
	cmd := exec.CommandContext(ctx, program, address, strconv.Itoa(n)) // #nosec G204 -- our own program
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("river: %w", err)
	}
	rates := &riverRates{}
	if err := json.Unmarshal(out, rates); err != nil {
		return nil, fmt.Errorf("river: %w: %s", err, out)
	}
	s.sayf("River, %d jobs that do nothing: %.0f jobs/s worked, %.0f by default, %.0f inserted", n, rates.Worked, rates.Default,
		rates.Inserted)
	s.beside = rates
	return rates, s.drop(ctx, "bench_river")
}

// buildRiver builds the module below bench/river.
func (s *environment) buildRiver(ctx context.Context) (string, error) {
	program, err := buildBeside(ctx, s.dir, "river")
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoRiver, err)
	}
	return program, nil
}

// buildBeside builds a module below bench that the product does not depend on, for which
// the network may be needed the first time.
func buildBeside(ctx context.Context, into, name string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("where the module is: %w", err)
	}
	program := filepath.Join(into, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(strings.TrimSpace(string(root)), "bench", name), "-o", program,
		".") // #nosec G204 -- our own program
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %.300s", err, oneLine(string(out)))
	}
	return program, nil
}
