package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// verifyLog compares each job with its log; with --repair it then makes jobs what
// their log says, once somebody has said yes.
func verifyLog(ctx context.Context, args, environ []string, in io.Reader, out, logs io.Writer) int {
	flags := flag.NewFlagSet("verify-log", flag.ContinueOnError)
	flags.SetOutput(logs)
	repairs := flags.Bool("repair", false, "write the state that the log tells, after asking")
	yes := flags.Bool("yes", false, "do not ask")
	if flags.Parse(args) != nil || flags.NArg() > 0 {
		return exitBlind
	}
	if !*repairs {
		return inspect(ctx, environ, out, logs, verifyOnly)
	}
	written, refused := 0, 0
	err := withDatabase(ctx, environ, logs, func(_ app.Config, d *db.DB) error {
		list, err := audit.Repairs(ctx, d)
		if err != nil {
			return err
		}
		for _, r := range list {
			printRepair(out, r)
		}
		if len(list) == 0 || !*yes && !confirmed(in, out, fmt.Sprintf("Write what the log tells of these %d jobs?", len(list))) {
			return nil
		}
		for _, r := range list {
			if err := r.Write(ctx, d); err != nil {
				refused++
				fmt.Fprintf(out, "%s %s: not written: %s\n", printable(r.Workspace), printable(r.Job), printable(err.Error()))
				continue
			}
			written++
		}
		fmt.Fprintf(out, "%d jobs were written, %d were not.\n", written, refused)
		return nil
	})
	if err != nil {
		fmt.Fprintln(logs, "fleetboard: not everything was looked at:", err)
		return exitBlind
	}
	return inspect(ctx, environ, out, logs, verifyOnly)
}

func verifyOnly(ctx context.Context, _ app.Config, d *db.DB) (audit.Report, error) {
	return audit.Verify(ctx, d)
}

func printRepair(out io.Writer, r audit.Repair) {
	fmt.Fprintf(out, "%s %s\n", printable(r.Workspace), printable(r.Job))
	for _, d := range r.Differences {
		fmt.Fprintf(out, "  %s: %s becomes %s\n", d.Field, printable(d.Here), printable(d.There))
	}
}

// confirmed asks a question that only yes answers.
func confirmed(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprintf(out, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(in).ReadString('\n')
	fmt.Fprintln(out)
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// show prints a job as it was.
func show(ctx context.Context, args, environ []string, out, logs io.Writer) int {
	flags := flag.NewFlagSet("show", flag.ContinueOnError)
	flags.SetOutput(logs)
	at := flags.String("at", "", "the time, such as 2026-03-01T12:00:00Z; now by default")
	workspace := flags.String("workspace", "", "the workspace's address, where several have such a key")
	if len(args) == 0 || flags.Parse(args[1:]) != nil || flags.NArg() > 0 {
		fmt.Fprint(logs, usage)
		return exitBlind
	}
	when := time.Now()
	if *at != "" {
		var err error
		if when, err = time.Parse(time.RFC3339Nano, *at); err != nil {
			fmt.Fprintln(logs, "fleetboard: --at must be a time such as 2026-03-01T12:00:00Z")
			return exitBlind
		}
	}
	var state jobs.State
	err := withDatabase(ctx, environ, logs, func(_ app.Config, d *db.DB) (err error) {
		state, err = audit.StateAt(ctx, d, *workspace, args[0], when)
		return err
	})
	if err != nil {
		fmt.Fprintln(logs, "fleetboard:", err)
		return exitBlind
	}
	for _, f := range state.Fields() {
		fmt.Fprintf(out, "%-22s %s\n", f.Name, visible(f.Value))
	}
	return exitOK
}

// withDatabase looks at the database that the environment names.
func withDatabase(ctx context.Context, environ []string, logs io.Writer, do func(app.Config, *db.DB) error) error {
	cfg, err := app.LoadConfig(env.ToMap(environ))
	if err != nil {
		return err
	}
	return app.Inspect(ctx, cfg, slog.New(slog.NewTextHandler(logs, nil)), func(d *db.DB) error { return do(cfg, d) })
}
