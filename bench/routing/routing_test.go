package routing

import (
	"testing"
	"time"
)

// Every job ends once, at a factory that may have it and has a seat, in every way.
func TestRunsKeepTheRules(t *testing.T) {
	for _, w := range Workloads() {
		for _, way := range []Way{Pull, Targeted, Offered} {
			r := w.Run(way, 2000, 7)
			if r.Jobs != 2000 || r.Unfit != 0 || r.Overbooked != 0 || (r.Lost > 0) != (w.FlakyFactories > 0) || (r.Unheard > 0) != (way == Offered) {
				t.Errorf("%s, way %d: %+v", w.Name, way, r)
			}
			if again := w.Run(way, 2000, 7); again != r {
				t.Errorf("%s, way %d: %+v, then %+v", w.Name, way, r, again)
			}
		}
	}
}

func TestWhenTargetedWins(t *testing.T) {
	compare := func(targeted ...int) (all []Comparison) {
		for _, n := range targeted {
			all = append(all, Comparison{Pull: Result{Mean: 100 * time.Second}, Offered: Result{Mean: time.Duration(n) * time.Second}})
		}
		return all
	}
	for _, c := range []struct {
		all  []Comparison
		want bool
	}{{compare(90, 95, 103), true}, {compare(90, 95, 104), false}, {compare(90, 100, 103), false}, {compare(90, 99, 80), true}} {
		if Wins(c.all) != c.want {
			t.Errorf("%+v: %v", c.all, !c.want)
		}
	}
}

func TestCompareThreeWorkloads(t *testing.T) {
	n := 2000
	if testing.Verbose() {
		n = 20_000
	}
	var all []Comparison
	for _, w := range Workloads() {
		c := w.Compare(n, 3)
		all = append(all, c)
		t.Logf("%s: pull %s (%d clones, %d lost, waits up to %s), targeted %s (%d, %d, %s), with offers %s: %.1f %%", w.Name,
			c.Pull.Mean.Round(time.Second), c.Pull.Clones, c.Pull.Lost, c.Pull.Longest.Round(time.Second),
			c.Targeted.Mean.Round(time.Second), c.Targeted.Clones, c.Targeted.Lost, c.Targeted.Longest.Round(time.Second),
			c.Offered.Mean.Round(time.Second), 100*c.Gain())
	}
	t.Logf("targeted wins: %v", Wins(all))
}
