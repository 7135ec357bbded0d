package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// profilesFrom is the folder for profiles, made where it is not there.
func profilesFrom(getenv func(string) string) (string, error) {
	dir := getenv("FLEETBOARD_BENCH_PROFILE")
	if dir == "" {
		return "", nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o750)
}

// profiled is the program that w runs and what its environment needs for it: the
// server as it is released, or the same around a profiler.
func (s *stage) profiled(ctx context.Context, w *web) (program string, env []string, err error) {
	if s.profiles == "" {
		return w.program, nil, nil
	}
	program, err = s.build(ctx, "fleetboard/bench/profiled")
	return program, []string{fmt.Sprintf("PROFILED_TO=%s", filepath.Join(s.profiles, fmt.Sprintf("%s-%d", s.line, s.webs)))}, err
}
