package main

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// The bench works: it loads, measures and reports. What it measures on a machine
// that does other things at the same time says nothing, so that two halves of its lines, each
// with a PostgreSQL of its own, may be measured at once.
func TestTheBenchWorks(t *testing.T) {
	t.Parallel()
	var halves [2][]string
	for i, l := range lines {
		if !onlyNamed[l.name] {
			halves[i%2] = append(halves[i%2], l.name)
		}
	}
	for _, names := range halves {
		t.Run(names[0], func(t *testing.T) {
			t.Parallel()
			measured(t, names)
		})
	}
}

// measured runs lines and looks at the figures that they give.
func measured(t *testing.T, names []string) {
	t.Helper()
	var out strings.Builder
	env := map[string]string{"FLEETBOARD_BENCH_ROWS": "1000", "FLEETBOARD_BENCH_DIR": t.TempDir()}
	if _, err := run(t.Context(), names, func(name string) string { return env[name] }, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	seen := map[string]int{}
	text := bufio.NewScanner(strings.NewReader(out.String()))
	for text.Scan() {
		if !strings.HasPrefix(text.Text(), "{") {
			continue
		}
		var f figure
		if err := json.Unmarshal(text.Bytes(), &f); err != nil || f.Ours < 0 || f.Runs <= 0 || (f.Other > 0 && f.Ours > 0) != (f.Ratio > 0) {
			t.Errorf("%s: %v", text.Text(), err)
		}
		seen[f.Line]++
	}
	all := map[string]int{"rls": 9, "flat": 3, "snapshot": 2}
	for _, name := range names {
		if n := seen[name]; n == 0 && !strings.Contains(out.String(), "nothing to compare with") || all[name] > 0 && n != all[name] {
			t.Errorf("%s has %d figures", name, n)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func TestAFigureIsHeldAgainstItsLimit(t *testing.T) {
	most := 5.0
	for _, c := range []struct {
		f   figure
		met bool
	}{
		{figure{Ratio: 9}, true}, {figure{Ratio: 1.15, AtMost: 1.15}, true}, {figure{Ratio: 1.16, AtMost: 1.15}, false},
		{figure{Ratio: 1.5, AtLeast: 1.5}, true}, {figure{Ratio: 1.4, AtLeast: 1.5}, false},
		{figure{Ours: 5, Most: &most}, true}, {figure{Ours: 5.1, Most: &most}, false}, {versus("beside nothing", 5, 0, "ms", 1), true},
	} {
		var out strings.Builder
		if met, err := report(&out, "a machine", []figure{c.f}); met != c.met || err != nil || strings.Contains(out.String(), "MISSED") == c.met {
			t.Errorf("%+v: met %t, %v\n%s", c.f, met, err, out.String())
		}
	}
}

func TestNothingIsMeasuredWithoutDurability(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := prepare(t.Context(), func(name string) string { return map[string]string{"FLEETBOARD_BENCH_DIR": dir}[name] }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if err := s.durable(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.owner.Exec(t.Context(), `ALTER ROLE fleetboard_app SET synchronous_commit = off`); err != nil {
		t.Fatal(err)
	}
	if err := s.durable(t.Context()); err == nil || !strings.Contains(err.Error(), "another one for 1 roles") {
		t.Errorf("a role that commits without waiting is taken: %v", err)
	}
}

func TestTheBenchRefusesWhatItCannotRead(t *testing.T) {
	for _, text := range []string{"999", "-1", "many", "1e6"} {
		if _, err := rowsFrom(func(string) string { return text }); err == nil {
			t.Errorf("%q rows are taken", text)
		}
	}
	if _, err := choose([]string{"rls", "x"}); err == nil || !strings.Contains(err.Error(), "there are batches, board, claims") {
		t.Errorf("an unknown line: %v", err)
	}
}

func TestSizesGoWithTheRows(t *testing.T) {
	s := &environment{rows: 1000}
	if a, b, c := s.sized(10_000, 5), s.sized(1000, 5), s.lasting(time.Minute); a != 10 || b != 5 || c != time.Second {
		t.Error(a, b, c)
	}
	s.rows = defaultRows
	if a, b := s.sized(10_000, 5), s.lasting(time.Minute); a != 10_000 || b != time.Minute {
		t.Error(a, b)
	}
}
