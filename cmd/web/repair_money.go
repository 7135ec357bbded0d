package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
)

// auditAll checks all rows; with --repair it first puts budgets right by their ledgers, once
// somebody has said yes.
func auditAll(ctx context.Context, args, environ []string, in io.Reader, out, logs io.Writer) int {
	flags := flag.NewFlagSet("audit", flag.ContinueOnError)
	flags.SetOutput(logs)
	repairs := flags.Bool("repair", false, "put budgets right by their ledgers, after asking")
	yes := flags.Bool("yes", false, "do not ask")
	if flags.Parse(args) != nil || flags.NArg() > 0 {
		fmt.Fprint(logs, usage)
		return exitBlind
	}
	if *repairs {
		err := withDatabase(ctx, environ, logs, func(_ app.Config, d *db.DB) error { return repairBudgets(ctx, d, *yes, in, out) })
		if err != nil {
			fmt.Fprintln(logs, "fleetboard: not everything was looked at:", err)
			return exitBlind
		}
	}
	return inspect(ctx, environ, out, logs, auditWithSeals)
}

// repairBudgets puts the budgets right of which something is wrong, and says what it did.
func repairBudgets(ctx context.Context, d *db.DB, yes bool, in io.Reader, out io.Writer) error {
	list, err := audit.BudgetRepairs(ctx, d)
	if err != nil {
		return err
	}
	for _, r := range list {
		for _, what := range r.Found {
			fmt.Fprintf(out, "%s %s: %s\n", printable(r.Workspace), printable(r.Budget), printable(what))
		}
	}
	if len(list) == 0 || !yes && !confirmed(in, out, fmt.Sprintf("Put these %d budgets right by their ledgers?", len(list))) {
		return nil
	}
	for _, r := range list {
		done, err := r.Write(ctx, d)
		for _, what := range done {
			fmt.Fprintf(out, "%s %s: %s\n", printable(r.Workspace), printable(r.Budget), printable(what))
		}
		if err != nil {
			fmt.Fprintf(out, "%s %s: not put right: %s\n", printable(r.Workspace), printable(r.Budget), printable(err.Error()))
		}
	}
	return nil
}
