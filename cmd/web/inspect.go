package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
)

// maxDetail bounds a printed finding, in characters.
const maxDetail = 600

// inspect looks at the database in one way and prints what it found.
func inspect(ctx context.Context, environ []string, out, logs io.Writer,
	look func(context.Context, app.Config, *db.DB) (audit.Report, error)) int {
	var report audit.Report
	err := withDatabase(ctx, environ, logs, func(cfg app.Config, d *db.DB) (err error) {
		report, err = look(ctx, cfg, d)
		return err
	})
	printReport(out, report)
	switch {
	case err != nil:
		fmt.Fprintln(logs, "fleetboard: not everything was looked at:", err)
		return exitBlind
	case report.Found() > 0:
		return exitFailed
	}
	return exitOK
}

func auditWithSeals(ctx context.Context, cfg app.Config, d *db.DB) (audit.Report, error) {
	seals, err := app.SealVerifier(ctx, cfg, d)
	if err != nil {
		return audit.Report{}, err
	}
	return audit.RunWithSeals(ctx, d, seals)
}

func printReport(out io.Writer, r audit.Report) {
	if len(r.Checks) == 0 {
		return // it never began
	}
	fmt.Fprintf(out, "Looked at %d jobs of %d workspaces.\n", r.Jobs, r.Workspaces)
	for _, c := range r.Checks {
		fmt.Fprintf(out, "%6d  %-10s %s\n", c.Found, c.Name, c.About)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(out, "%s %s: %s: %s\n", printable(f.Workspace), printable(f.Job), f.Check, printable(f.Detail))
	}
	if more := r.Found() - len(r.Findings); more > 0 {
		fmt.Fprintf(out, "and %d more\n", more)
	}
}

// printable keeps text of agents from steering the terminal it is shown on.
func printable(s string) string {
	runes := []rune(s)
	if len(runes) > maxDetail {
		runes = append(runes[:maxDetail:maxDetail], '…')
	}
	return visible(string(runes))
}

// visible is text with a question mark for what would not print.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
