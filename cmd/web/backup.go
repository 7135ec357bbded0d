package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/backup"
)

// backUp writes a backup.
func backUp(ctx context.Context, args, environ []string, out, logs io.Writer) int {
	cfg, address, code := configured("backup", args, environ, logs, nil)
	if code != exitOK {
		return code
	}
	p := newProgress(logs)
	m, err := app.Backup(ctx, cfg, address, quietly(logs), p.tell)
	p.end()
	if err != nil {
		return failed(logs, "no backup was made", err)
	}
	fmt.Fprintf(out, "The backup %s was made in %s: %d MB, a %s of PostgreSQL %s.\n",
		m.ID, m.Ended.Sub(m.Begun), m.Size()>>20, m.Kind, m.PostgreSQL)
	for _, l := range m.Logs {
		fmt.Fprintf(out, "%s: events up to %d, sealed up to block %d %.8x\n", l.Slug, l.Position, l.Block, l.Digest)
	}
	for _, line := range covers(m) {
		fmt.Fprintln(out, line)
	}
	return exitOK
}

// covers says in plain words what a backup has and what it has not.
func covers(m backup.Manifest) (lines []string) {
	switch {
	case m.Kind == backup.Dump:
		lines = append(lines, "It can be restored as of its begin only; any second needs the archive of the database server itself.")
	case m.Copy.Chain == "":
		lines = append(lines, "It can be restored as of its end only: no log is archived beside it.")
	default:
		lines = append(lines, "It can be restored as of any second from its end on, as far as the log is archived.")
	}
	if m.Key == nil {
		lines = append(lines, "The server's secret key is not in it: keep a copy of the key apart.")
	} else {
		lines = append(lines, "The server's secret key is in it, under your passphrase.")
	}
	if m.Bucket != "" {
		lines = append(lines, "Blobs of the bucket "+m.Bucket+" are not in it: back the bucket up too, after this.")
	}
	return lines
}

// configured reads the flags of a command, its one argument, which may be left out, and the environment.
func configured(name string, args, environ []string, logs io.Writer, declare func(*flag.FlagSet)) (
	cfg app.Config, argument string, code int) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(logs)
	if declare != nil {
		declare(flags)
	}
	// The argument may stand before the flags.
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		argument, args = args[0], args[1:]
	}
	if flags.Parse(args) != nil {
		return cfg, "", exitBlind
	}
	if rest := flags.Args(); len(rest) == 1 && argument == "" {
		argument = rest[0]
	} else if len(rest) > 0 {
		fmt.Fprint(logs, usage)
		return cfg, "", exitBlind
	}
	cfg, err := app.LoadConfig(env.ToMap(environ))
	if err != nil {
		fmt.Fprintln(logs, "fleetboard:", err)
		return cfg, "", exitBlind
	}
	return cfg, argument, exitOK
}

// failed says what went wrong: 2 where it was not begun, 1 where it failed.
func failed(logs io.Writer, what string, err error) int {
	fmt.Fprintf(logs, "fleetboard: %s: %v\n", what, err)
	var refused *backup.RefusedError
	if errors.As(err, &refused) {
		return exitBlind
	}
	return exitFailed
}

// quietly logs warnings only: these commands say themselves what they do.
func quietly(logs io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// restore restores a backup and says what it is worth.
func restore(ctx context.Context, args, environ []string, out, logs io.Writer) int {
	var in app.RestoreInput
	var at string
	cfg, address, code := configured("restore", args, environ, logs, func(flags *flag.FlagSet) {
		flags.StringVar(&at, "at", "", "the second to restore, such as 2026-03-01T12:00:00Z; as late as possible by default")
		flags.BoolVar(&in.WithoutKey, "without-key", false, "restore although the server's secret key is lost")
	})
	if code != exitOK {
		return code
	}
	in.Address = address
	if at != "" {
		var err error
		if in.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
			fmt.Fprintln(logs, "fleetboard: --at must be a time with its zone, such as 2026-03-01T12:00:00Z or 2026-03-01T13:00:00+01:00")
			return exitBlind
		}
	}
	p := newProgress(logs)
	proof, err := app.Restore(ctx, cfg, in, quietly(logs), p.tell)
	p.end()
	if err != nil {
		return failed(logs, "nothing was restored", err)
	}
	return printProof(out, proof)
}

// printProof says what a restored database is worth.
func printProof(out io.Writer, p app.Proof) int {
	fmt.Fprintf(out, "Restored the backup %s in %s.\n", p.ID, p.Took.Round(100*time.Millisecond))
	if p.Migrated > 0 {
		fmt.Fprintf(out, "It had schema %d and was brought up to date.\n", p.Migrated)
	}
	if len(p.Missing) == 0 {
		fmt.Fprintln(out, "Nothing is missing that the backups know of.")
	}
	for _, line := range p.Missing {
		fmt.Fprintln(out, "Missing in", printable(line))
	}
	for _, line := range p.Differ {
		fmt.Fprintln(out, "Other seals than the backup's:", printable(line))
	}
	printReport(out, p.Audit)
	printReport(out, p.Verify)
	if p.Unsealed != nil {
		fmt.Fprintln(out, "The seals of the log were not checked:", p.Unsealed)
	}
	if p.Cut() {
		fmt.Fprintln(out, "When you know what was lost, run fleetboard accept-log.")
	}
	if !p.Good() {
		return exitFailed
	}
	return exitOK
}

// doctor looks at what the server needs to survive its machine.
func doctor(ctx context.Context, args, environ []string, out, logs io.Writer) int {
	var try bool
	var dir string
	cfg, address, code := configured("doctor", args, environ, logs, func(flags *flag.FlagSet) {
		flags.BoolVar(&try, "try-restore", false, "restore the newest backup into a temporary directory and audit it")
		flags.StringVar(&dir, "in", "", "where that directory is made; the system's temporary one by default")
	})
	if code != exitOK {
		return code
	}
	list, err := app.Examine(ctx, cfg, address, quietly(logs))
	for _, s := range list {
		mark := "ok "
		if s.Bad {
			mark, code = "BAD", exitFailed
		}
		fmt.Fprintf(out, "%s  %-10s  %s\n", mark, s.Name, s.Text)
	}
	if err != nil {
		fmt.Fprintln(logs, "fleetboard: not everything was looked at:", err)
		return exitBlind
	}
	if !try {
		return code
	}
	p := newProgress(logs)
	proof, err := app.TryRestore(ctx, cfg, address, dir, quietly(logs), p.tell)
	p.end()
	if err != nil {
		return failed(logs, "the newest backup could not be restored", err)
	}
	return max(code, printProof(out, proof))
}
