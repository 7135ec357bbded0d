package cli_test

import (
	"strings"
	"testing"
)

// TestPools makes a pool, changes a part of it, and looks at its demand.
func TestPools(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	holds := func(what, said string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(said, part) {
				t.Errorf("%s lacks %q:\n%s", what, part, said)
			}
		}
	}
	holds("no pools", w.fleet("pool", "list").ok(), "There are no pools")
	w.fleet("pool", "set", "linux", "--engine", "claude", "--label", "has:git,has:gpu", "--seats", "2", "--max", "4", "--cool-down", "60").ok()
	holds("a pool of which one thing changes", w.fleet("pool", "set", "linux", "--max", "6").ok(), "engine:claude, has:git, has:gpu", "2 each", "0 to 6", "60 s")
	holds("a pool of which a list changes", w.fleet("pool", "set", "linux", "--engine", "").ok(), "has:git, has:gpu\n", "0 to 6")
	if said := w.fleet("pool", "show", "linux").ok(); strings.Contains(said, "engine:claude") {
		t.Errorf("a list that was emptied:\n%s", said)
	}
	holds("what never started", w.fleet("pool", "history", "linux").ok(), "No scaler has started a factory")
	w.create("One", "--needs", "has:gpu")
	holds("the demand", w.fleet("pool", "demand", "linux").ok(), "wanted        1\n", "to start      1\n", "1 queued, 0 offered, 0 running")
	holds("the list", w.fleet("pool", "list").ok(), "linux", "6")
	holds("the end", w.fleet("pool", "remove", "linux").ok(), "linux is gone")
	w.fleet("pool", "show", "linux").ends(4)
}
