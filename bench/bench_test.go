package main

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
)

// The bench works: it loads, measures and reports. What it measures on a machine
// that does other things at the same time says nothing.
func TestTheBenchWorks(t *testing.T) {
	var out strings.Builder
	env := map[string]string{"FLEETBOARD_BENCH_ROWS": "1000", "FLEETBOARD_BENCH_DIR": t.TempDir()}
	if _, err := run(t.Context(), nil, func(name string) string { return env[name] }, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	seen := map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(out.String()))
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "{") {
			continue
		}
		var f figure
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil || f.Ours <= 0 || f.Other <= 0 || f.Ratio <= 0 || f.Runs <= 0 {
			t.Errorf("%s: %v", lines.Text(), err)
		}
		seen[f.Line]++
	}
	claims := 1
	if _, err := pgbench(); err != nil {
		claims = 0
	}
	if seen["rls"] != 9 || seen["claims"] != claims {
		t.Errorf("figures of each line: %v\n%s", seen, out.String())
	}
}

func TestAFigureIsHeldAgainstItsLimit(t *testing.T) {
	for _, c := range []struct {
		f   figure
		met bool
	}{
		{figure{Ratio: 9}, true}, {figure{Ratio: 1.15, AtMost: 1.15}, true}, {figure{Ratio: 1.16, AtMost: 1.15}, false},
		{figure{Ratio: 1.5, AtLeast: 1.5}, true}, {figure{Ratio: 1.4, AtLeast: 1.5}, false},
	} {
		var out strings.Builder
		if met, err := report(&out, "a machine", []figure{c.f}); met != c.met || err != nil || strings.Contains(out.String(), "MISSED") == c.met {
			t.Errorf("%+v: met %t, %v\n%s", c.f, met, err, out.String())
		}
	}
}

func TestTheBenchRefusesWhatItCannotRead(t *testing.T) {
	for _, text := range []string{"999", "-1", "many", "1e6"} {
		if _, err := rowsFrom(func(string) string { return text }); err == nil {
			t.Errorf("%q rows are taken", text)
		}
	}
	if _, err := choose([]string{"rls", "x"}); err == nil || !strings.Contains(err.Error(), "there are rls") {
		t.Errorf("an unknown line: %v", err)
	}
}
