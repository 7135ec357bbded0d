package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/app"
)

// acceptLog takes the logs as they are now for whole, once somebody has said yes.
func acceptLog(ctx context.Context, args, environ []string, in io.Reader, out, logs io.Writer) int {
	flags := flag.NewFlagSet("accept-log", flag.ContinueOnError)
	flags.SetOutput(logs)
	yes := flags.Bool("yes", false, "do not ask")
	if flags.Parse(args) != nil || flags.NArg() > 0 {
		return exitBlind
	}
	if !*yes && !confirmed(in, out, "From now on no audit will tell what was done to the logs until now. Accept them as they are?") {
		return exitFailed
	}
	err := withDatabase(ctx, environ, logs, func(cfg app.Config, d *db.DB) error {
		n, err := app.AcceptLogs(ctx, cfg, d)
		if err == nil {
			fmt.Fprintf(out, "The logs of %d workspaces are accepted as they are now.\n", n)
		}
		return err
	})
	if err != nil {
		fmt.Fprintln(logs, "fleetboard: the logs were not accepted:", err)
		return exitBlind
	}
	return exitOK
}
