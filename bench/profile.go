package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// profilesFrom returns the folder for profiles, made where it is not there.
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

// profiled returns the program that w runs and what its environment needs for it: the
// server as it is released, or the same around a profiler.
func (s *environment) profiled(ctx context.Context, w *web) (program string, env []string, err error) {
	if s.profiles == "" {
		return w.program, nil, nil
	}
	program, err = s.build(ctx, "github.com/fleetboard/fleetboard/bench/profiled")
	return program, []string{"PROFILED_TO=" + s.profile("")}, err
}

// profile names a part of the present server's profile.
func (s *environment) profile(kind string) string {
	name := filepath.Join(s.profiles, fmt.Sprintf("%s-%d", s.line, s.webs))
	if kind == "" {
		return name
	}
	return name + "." + kind
}

// databaseSettings returns those of the PostgreSQL that is measured: its defaults, and
// where profiles are wanted what records the time of each statement.
func (s *environment) databaseSettings() []string {
	if s.profiles == "" {
		return nil
	}
	return []string{"shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_planning=on"}
}
