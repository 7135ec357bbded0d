// Command web is the Fleetboard server.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"fleetboard/internal/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Environ(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "fleetboard:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. What a person needs is written to out, the log to
// logs.
func run(ctx context.Context, environ []string, out, logs io.Writer) error {
	cfg, err := app.LoadConfig(environment(environ))
	if err != nil {
		return err
	}
	server, err := app.Start(ctx, cfg, slog.New(slog.NewTextHandler(logs, nil)))
	if err != nil {
		return err
	}
	if link := server.SetupURL(); link != "" {
		fmt.Fprintf(out, "Set up the first owner, once: %s\n", link)
	}
	fmt.Fprintf(out, "Fleetboard is at %s\n", server.URL())
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	select {
	case <-ctx.Done():
		return server.Close()
	case err := <-ended:
		return errors.Join(err, server.Close())
	}
}

func environment(environ []string) map[string]string {
	vars := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
	}
	return vars
}
