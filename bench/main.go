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
	"syscall"
)

const defaultRows = 1_000_000

// line is a part of the bench that can be selected by its name.
type line struct {
	name, text string
	run        func(context.Context, *environment) ([]figure, error)
}

// lines are in the order of their files' names.
var lines []line

// onlyNamed are measured only where they are selected by their names.
var onlyNamed = map[string]bool{"fairness": true}

// register puts a line into the bench, while the program starts.
func register(l line) { lines = append(lines, l) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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
		s.line = l.name
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
	var chosen []line
	for _, l := range lines {
		if len(names) == 0 && !onlyNamed[l.name] {
			chosen = append(chosen, l)
		}
	}
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
