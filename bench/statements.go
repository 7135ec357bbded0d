package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// statementsShown is how many statements a profile of the database lists.
	statementsShown = 40
	// waitsEvery is how far apart the looks at what sessions wait for are.
	waitsEvery = 20 * time.Millisecond
)

// observe begins a profile of what the server runs on its database: the time of
// each statement, and what its sessions wait for. The returned function ends it and
// writes both to the folder for profiles. Both do nothing without one.
func (w *web) observe(ctx context.Context) (end func(ctx context.Context) error, err error) {
	if w.environment.profiles == "" {
		return func(context.Context) error { return nil }, nil
	}
	owner, err := w.connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, sql := range []string{"CREATE EXTENSION IF NOT EXISTS pg_stat_statements", "SELECT pg_stat_statements_reset()"} {
		if _, err := owner.Exec(ctx, sql); err != nil {
			return nil, errors.Join(err, owner.Close(ctx))
		}
	}
	stop, waits := make(chan struct{}), make(chan map[string]int, 1)
	go func() { waits <- watchWaits(ctx, owner, w.name, stop) }()
	return func(ctx context.Context) error {
		close(stop)
		seen := <-waits
		text, err := statements(ctx, owner)
		return errors.Join(err, owner.Close(ctx), w.keep("statements", text), w.keep("waits", ranked(seen)))
	}, nil
}

// keep writes a part of the profile.
func (w *web) keep(kind, text string) error {
	name := w.environment.profile(kind)
	return os.WriteFile(name, []byte(text), 0o600)
}

// watchWaits counts what the sessions of a database were seen waiting for, or
// running, until stop is closed.
func watchWaits(ctx context.Context, conn *pgx.Conn, database string, stop <-chan struct{}) map[string]int {
	tick := time.NewTicker(waitsEvery)
	defer tick.Stop()
	seen := map[string]int{}
	for {
		rows, err := conn.Query(ctx, `SELECT coalesce(wait_event_type || ' ' || wait_event, 'runs'), count(*)::int FROM pg_stat_activity
			WHERE datname = $1 AND pid <> pg_backend_pid() AND state <> 'idle' GROUP BY 1`, database)
		if err != nil {
			return seen
		}
		var event string
		var n int
		if _, err := pgx.ForEachRow(rows, []any{&event, &n}, func() error { seen[event] += n; return nil }); err != nil {
			return seen
		}
		select {
		case <-stop:
			return seen
		case <-tick.C:
		}
	}
}

// ranked lists counts, the largest first.
func ranked(counts map[string]int) string {
	var lines []string
	for name, n := range counts {
		lines = append(lines, fmt.Sprintf("%8d %s\n", n, name))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	return strings.Join(lines, "")
}

// statements lists what took the database's time.
func statements(ctx context.Context, conn *pgx.Conn) (string, error) {
	rows, err := conn.Query(ctx, `SELECT calls, rows, total_exec_time, total_plan_time, 1000 * mean_exec_time, regexp_replace(query,
		'\s+', ' ', 'g')
		FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
		ORDER BY total_exec_time + total_plan_time DESC LIMIT $1`, statementsShown)
	if err != nil {
		return "", err
	}
	var calls, n int64
	var total, planned, mean float64
	var query string
	text := strings.Builder{}
	fmt.Fprintf(&text, "%9s %9s %9s %9s %9s\n", "calls", "rows", "ms", "planning", "µs a call")
	_, err = pgx.ForEachRow(rows, []any{&calls, &n, &total, &planned, &mean, &query}, func() error {
		fmt.Fprintf(&text, "%9d %9d %9.0f %9.0f %9.0f %.110s\n", calls, n, total, planned, mean, query)
		return nil
	})
	return text.String(), err
}
