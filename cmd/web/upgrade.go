package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/upgrade"
	"github.com/fleetboard/fleetboard/internal/app"
)

// longPause is from when on a migration is worth a warning: requests give up after five seconds.
const longPause = 3 * time.Second

// checkUpgrade prints what a start of this version would do to the database, and does none of it.
func checkUpgrade(ctx context.Context, args, environ []string, out, logs io.Writer) int {
	if strings.Join(args, " ") != "--check" {
		fmt.Fprintln(logs, "fleetboard: upgrade takes --check and nothing else: a server that starts upgrades by itself")
		return exitBlind
	}
	cfg, err := app.LoadConfig(env.ToMap(environ))
	if err != nil {
		fmt.Fprintln(logs, "fleetboard:", err)
		return exitBlind
	}
	u, err := app.CheckUpgrade(ctx, cfg, slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelWarn})))
	var newer *db.SchemaError
	switch {
	case errors.As(err, &newer):
		fmt.Fprintln(out, "This version cannot start here:", newer)
		return exitFailed
	case err != nil:
		fmt.Fprintln(logs, "fleetboard: it was not possible to look:", err)
		return exitBlind
	}
	if printUpgrade(out, u) {
		return exitFailed
	}
	return exitOK
}

// printUpgrade prints an upgrade, and reports whether it pauses something for long.
func printUpgrade(out io.Writer, u upgrade.Upgrade) (pauses bool) {
	switch u.Has {
	case u.Needs:
		fmt.Fprintf(out, "The database has schema %d, which is that of this version: nothing is changed.\n", u.Has)
		return false
	case 0:
		fmt.Fprintf(out, "The database is empty: it gets schema %d.\n", u.Needs)
		return false
	}
	fmt.Fprintf(out, "The database has schema %d and gets schema %d. Each step is a transaction, and waits 2 s at most for a table.\n",
		u.Has, u.Needs)
	for _, step := range u.Steps {
		fmt.Fprintf(out, "%s\n", step.Name)
		for _, t := range step.Tables {
			fmt.Fprintf(out, "    %s, %d rows, %d MB: %s\n", t.Name, t.Rows, t.Bytes>>20, tableWords(t))
		}
		if step.Takes() > longPause && stopsSomebody(step) {
			pauses = true
			fmt.Fprintf(out, "    about %s: servers answer 503 for what needs these tables meanwhile\n", step.Takes().Round(time.Second))
		}
	}
	if !pauses {
		fmt.Fprintln(out, "Nothing is locked for longer than requests wait: servers of the version before go on answering.")
	}
	return pauses
}

func stopsSomebody(s upgrade.Step) bool {
	for _, t := range s.Tables {
		if t.NoWrites {
			return true
		}
	}
	return false
}

// tableWords says what a step does to a table.
func tableWords(t upgrade.Table) string {
	var words []string
	if t.Rewrites {
		words = append(words, "written anew")
	}
	if t.Indexes > 0 {
		words = append(words, fmt.Sprintf("%d new indexes", t.Indexes))
	}
	if t.Changes {
		words = append(words, "rows changed")
	}
	if len(words) == 0 {
		words = append(words, "its definition alone is changed")
	}
	switch {
	case t.NoReads:
		words = append(words, "nobody reads or writes it")
	case t.NoWrites:
		words = append(words, "nobody writes to it")
	}
	if took := t.Takes().Round(time.Second); took > 0 {
		words = append(words, "for about "+took.String())
	}
	return strings.Join(words, ", ")
}
