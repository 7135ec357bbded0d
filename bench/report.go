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

// figure is one measured comparison: what Fleetboard does against what it is
// held against, in the same unit and the same run.
type figure struct {
	Line  string  `json:"line"`
	Name  string  `json:"name"`
	Ours  float64 `json:"ours"`
	Other float64 `json:"other"`
	Unit  string  `json:"unit"`
	Ratio float64 `json:"ratio"` // of ours to the other
	// AtMost and AtLeast are the limits of the ratio; 0 is none.
	AtMost  float64 `json:"at_most,omitempty"`
	AtLeast float64 `json:"at_least,omitempty"`
	// Runs is how often each side was measured.
	Runs int `json:"runs"`
}

func (f figure) met() bool {
	return (f.AtMost == 0 || f.Ratio <= f.AtMost) && (f.AtLeast == 0 || f.Ratio >= f.AtLeast)
}

func (f figure) limit() string {
	switch {
	case f.AtMost > 0:
		return fmt.Sprintf("<= %.2f", f.AtMost)
	case f.AtLeast > 0:
		return fmt.Sprintf(">= %.2f", f.AtLeast)
	default:
		return ""
	}
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
		fmt.Fprintf(table, "%s\t%s\t%.1f\t%.1f\t%s\t%.3f\t%s\t%s\t\n", f.Line, f.Name, f.Ours, f.Other, f.Unit, f.Ratio, f.limit(), word)
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

// oneLine is a text without breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
