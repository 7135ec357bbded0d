// Command web is the Fleetboard server, and what looks after its database.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/fleetboard/fleetboard/internal/app"
)

const usage = `Usage: fleetboard [command]

  serve       run the server; also without a command
  audit       check that the rows about each job agree
              --repair puts budgets right by their ledgers, after asking; --yes does not ask
  verify-log  replay each job from its events and compare
              --repair writes what the log tells, after asking; --yes does not ask
  show KEY    print a job as its log tells it
              --at TIME as it was then; --workspace NAME where several have that key
  accept-log  take the log as it is now for whole, after a restore for instance, after asking;
              --yes does not ask
  estimates --replay
              estimate past jobs, each by those that ended before it, and compare with what they cost
  backup TARGET
              write a backup, while servers run, to a directory, a new file *.tar or s3://bucket/prefix;
              without TARGET to FLEETBOARD_BACKUP_URL
  restore SOURCE
              restore the newest backup into an empty data directory or database, and audit it
              --at TIME as it was at that second; --without-key where the secret key is lost
  doctor      say when the last good backup was made, what it covers and how disk, schema and clock are
              --try-restore restores the newest into a temporary directory and audits it; --in DIR there
  upgrade --check
              say what this version would change in the database and what it would lock meanwhile
  ready       ask the server that runs by the same environment whether it can do its work
  version     print the version of the program and of its schema
  help        print this

All are configured by the same environment. audit, verify-log, show, estimates and doctor only read,
but for --repair, also while servers run. Exit codes: 0 all is well, 1 something differs or the server
failed, 2 it was not possible to look.
`

// The exit codes of usage.
const (
	exitOK = iota
	exitFailed
	exitBlind
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run carries out a command and returns the exit code. What a person needs is
// written to out, the log and what went wrong to logs.
func run(ctx context.Context, args, environ []string, in io.Reader, out, logs io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case "audit":
			return auditAll(ctx, args[1:], environ, in, out, logs)
		case "verify-log":
			return verifyLog(ctx, args[1:], environ, in, out, logs)
		case "show":
			return show(ctx, args[1:], environ, out, logs)
		case "estimates":
			return replayEstimates(ctx, args[1:], environ, out, logs)
		case "backup":
			return backUp(ctx, args[1:], environ, out, logs)
		case "restore":
			return restore(ctx, args[1:], environ, out, logs)
		case "doctor":
			return doctor(ctx, args[1:], environ, out, logs)
		case "accept-log":
			return acceptLog(ctx, args[1:], environ, in, out, logs)
		case "upgrade":
			return checkUpgrade(ctx, args[1:], environ, out, logs)
		}
	}
	if len(args) > 1 {
		fmt.Fprint(logs, usage)
		return exitBlind
	}
	command := strings.Join(args, "")
	switch command {
	case "", "serve":
		return serve(ctx, environ, out, logs)
	case "ready":
		return ready(ctx, environ, logs)
	case "version", "-v", "--version":
		fmt.Fprintln(out, "fleetboard", app.Version())
		return exitOK
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return exitOK
	}
	fmt.Fprintf(logs, "fleetboard: there is no command %q\n\n%s", command, usage)
	return exitBlind
}

// serve runs the server until ctx ends.
func serve(ctx context.Context, environ []string, out, logs io.Writer) int {
	if err := app.Serve(ctx, environ, out, logs); err != nil {
		fmt.Fprintln(logs, "fleetboard:", err)
		return exitFailed
	}
	return exitOK
}

// ready tells by its exit code whether the server can do its work.
func ready(ctx context.Context, environ []string, logs io.Writer) int {
	if err := app.AskReady(ctx, environ); err != nil {
		fmt.Fprintln(logs, "fleetboard:", err)
		return exitFailed
	}
	return exitOK
}
