// Command bench measures Fleetboard on the machine it runs on: `go run ./bench`
// measures every line, `go run ./bench rls` one of them. It starts a PostgreSQL
// of its own with every promise of durability on, loads it, and prints a table
// and, after it, one JSON object for each figure.
//
// FLEETBOARD_BENCH_ROWS is how many jobs are loaded (1,000,000), and
// FLEETBOARD_BENCH_DIR where the database lies (a new folder of the system's
// temporary one). What was loaded is removed afterwards.
//
// The exit status is 1 where a figure misses its limit, 2 where nothing could
// be measured.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
)

const defaultRows = 1_000_000

// line is a part of the bench that can be asked for by its name.
type line struct {
	name, text string
	run        func(context.Context, *stage) ([]figure, error)
}

var lines = []line{
	{"rls", "what row-level security costs the hottest statements", rls},
	{"claims", "claim and complete over HTTP, against the least that a queue does", claims},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	met, err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	case !met:
		os.Exit(1)
	}
}

// run measures the lines with these names, or all of them where none is given,
// and reports whether every figure met its limit.
func run(ctx context.Context, names []string, getenv func(string) string, out io.Writer) (met bool, err error) {
	chosen, err := choose(names)
	if err != nil {
		return false, err
	}
	s, err := prepare(ctx, getenv, out)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	var all []figure
	for _, l := range chosen {
		s.sayf("%s: %s", l.name, l.text)
		got, err := l.run(ctx, s)
		if err != nil {
			return false, fmt.Errorf("%s: %w", l.name, err)
		}
		for _, f := range got {
			f.Line = l.name
			all = append(all, f)
		}
	}
	return report(out, s.machine, all)
}

func choose(names []string) ([]line, error) {
	if len(names) == 0 {
		return lines, nil
	}
	var chosen []line
	for _, name := range names {
		at := slices.IndexFunc(lines, func(l line) bool { return l.name == name })
		if at < 0 {
			var known []string
			for _, l := range lines {
				known = append(known, l.name)
			}
			return nil, fmt.Errorf("there is no line %q; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, lines[at])
	}
	return chosen, nil
}

func rowsFrom(getenv func(string) string) (int, error) {
	text := getenv("FLEETBOARD_BENCH_ROWS")
	if text == "" {
		return defaultRows, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		return 0, fmt.Errorf("FLEETBOARD_BENCH_ROWS is %q; it is a number from 1000", text)
	}
	return n, nil
}
