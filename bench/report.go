package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// figure is one measured number: what Fleetboard does against what it is held
// against in the same unit and the same run, or alone with a limit of its own.
type figure struct {
	Line  string  `json:"line"`
	Name  string  `json:"name"`
	Ours  float64 `json:"ours"`
	Other float64 `json:"other,omitempty"` // 0 where there is none
	Unit  string  `json:"unit"`
	Ratio float64 `json:"ratio,omitempty"` // of ours to the other
	// AtMost and AtLeast are the limits of the ratio; 0 is none.
	AtMost  float64 `json:"at_most,omitempty"`
	AtLeast float64 `json:"at_least,omitempty"`
	// Most is the limit of ours where there is no other to compare with; nil is none.
	Most *float64 `json:"most,omitempty"`
	// Runs is how often each side was measured, or of how many measurements it is made.
	Runs int `json:"runs"`
}

// versus returns a figure with its ratio.
func versus(name string, ours, other float64, unit string, runs int) figure {
	f := figure{Name: name, Ours: ours, Other: other, Unit: unit, Runs: runs}
	if other > 0 { // of nothing there is no ratio
		f.Ratio = ours / other
	}
	return f
}

// within returns a figure that may be most, without another to compare with.
func within(name string, ours, most float64, unit string, runs int) figure {
	return figure{Name: name, Ours: ours, Unit: unit, Most: &most, Runs: runs}
}

func (f figure) met() bool {
	return (f.AtMost == 0 || f.Ratio <= f.AtMost) && (f.AtLeast == 0 || f.Ratio >= f.AtLeast) && (f.Most == nil || f.Ours <= *f.Most)
}

func (f figure) limit() string {
	switch {
	case f.AtMost > 0:
		return fmt.Sprintf("<= %.2f x", f.AtMost)
	case f.AtLeast > 0:
		return fmt.Sprintf(">= %.2f x", f.AtLeast)
	case f.Most != nil:
		return fmt.Sprintf("<= %g %s", *f.Most, f.Unit)
	default:
		return ""
	}
}

// compared returns the columns of what ours is held against, empty where it is
// held against nothing.
func (f figure) compared() (other, ratio string) {
	if f.Other == 0 {
		return "", ""
	}
	return fmt.Sprintf("%.1f", f.Other), fmt.Sprintf("%.3f", f.Ratio)
}

// report prints the table and the JSON lines.
func report(out io.Writer, machine string, all []figure) (met bool, err error) {
	met = true
	fmt.Fprintf(out, "\n%s\n\n", machine)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "line\tfigure\tours\tother\tunit\tratio\tlimit\t\t")
	for _, f := range all {
		word := ""
		if !f.met() {
			met, word = false, "MISSED"
		}
		other, ratio := f.compared()
		fmt.Fprintf(table, "%s\t%s\t%.1f\t%s\t%s\t%s\t%s\t%s\t\n", f.Line, f.Name, f.Ours, other, f.Unit, ratio, f.limit(), word)
	}
	if err := table.Flush(); err != nil {
		return met, err
	}
	fmt.Fprintln(out)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for _, f := range all {
		if err := lines.Encode(f); err != nil {
			return met, err
		}
	}
	return met, nil
}

// median of a list that is not empty; the list is sorted by it.
func median[T cmp.Ordered](list []T) T {
	slices.Sort(list)
	return list[len(list)/2]
}

// oneLine returns a text without breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
