// Command fleet is the command line of Fleetboard, for people, scripts and worker hosts.
// It knows a server by its API only.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/fleetboard/fleetboard/internal/client/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.System())
	stop()
	os.Exit(code)
}
