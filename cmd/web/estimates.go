package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
)

// replayEstimates prints how well past jobs would have been estimated, each by those
// that had ended before it.
func replayEstimates(ctx context.Context, args, environ []string, out, logs io.Writer) int {
	flags := flag.NewFlagSet("estimates", flag.ContinueOnError)
	flags.SetOutput(logs)
	replays := flags.Bool("replay", false, "estimate past jobs in the order of their ends")
	if flags.Parse(args) != nil {
		return exitBlind
	}
	if flags.NArg() > 0 || !*replays {
		fmt.Fprint(logs, usage)
		return exitBlind
	}
	var all []estimates.Replayed
	err := withDatabase(ctx, environ, logs, func(_ app.Config, d *db.DB) (err error) {
		all, err = estimates.ReplayAll(ctx, d)
		return err
	})
	if err != nil {
		fmt.Fprintln(logs, "fleetboard:", err)
		return exitBlind
	}
	if len(all) == 0 {
		fmt.Fprintln(out, "No job has finished with a known cost yet.")
	}
	for _, one := range all {
		printReplay(out, one)
	}
	return exitOK
}

func printReplay(out io.Writer, one estimates.Replayed) {
	r := one.Result
	fmt.Fprintf(out, "%s: %d finished jobs with a known cost, each estimated by those that ended before it.\n",
		printable(one.Workspace), r.After.Jobs)
	fmt.Fprintf(out, "                   within 20 %%   cost at most p90   the middle one is off by\n")
	printAccuracy(out, "before (formula)", r.Before)
	printAccuracy(out, "after (history)", r.After)
	fmt.Fprintf(out, "Their tokens would have cost $%s always with the large tier, and $%s with the tier of each job\n",
		cents(r.AlwaysLarge), cents(r.ByTier))
	fmt.Fprintf(out, "(%d small, %d standard, %d large): tiers save %.1f %%. They really cost $%s.\n", r.Tiers[estimates.Small],
		r.Tiers[estimates.Standard], r.Tiers[estimates.Large], 100*r.Saving(), cents(r.Actual))
	fmt.Fprintf(out, "This takes smaller models to need as many tokens and to do their work as well, which nobody knows beforehand.\n")
	fmt.Fprintf(out, "Nothing is saved once %.1f %% of their work has to be done again by a large one.\n", 100*r.BreakEven())
	fmt.Fprintln(out, "In this history had a failed attempt:")
	for _, model := range slices.Sorted(maps.Keys(r.Models)) {
		m, name := r.Models[model], printable(model)
		if name == "" {
			name = "an unknown model"
		}
		fmt.Fprintf(out, "  %5.1f %% of %d jobs of %s\n", percent(m.Failed, m.Jobs), m.Jobs, name)
	}
}

func printAccuracy(out io.Writer, name string, a estimates.Accuracy) {
	fmt.Fprintf(out, "%-18s %9.1f %%   %14.1f %%   a factor of %.2f\n", name, percent(a.Within, a.Jobs), percent(a.Under, a.Jobs), a.Factor)
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// cents returns an amount of dollars with two places.
func cents(n spend.Nanos) string {
	const cent = 10_000_000
	rounded := (n + cent/2) / cent
	return fmt.Sprintf("%d.%02d", rounded/100, rounded%100)
}
