package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/caarlos0/env/v11"

	"github.com/fleetboard/fleetboard/internal/tracing"
)

// Serve runs the server, configured by its environment ("NAME=value"), until ctx ends. It
// writes what a person needs to out, and the log to logs.
func Serve(ctx context.Context, environ []string, out, logs io.Writer) error {
	cfg, err := LoadConfig(env.ToMap(environ))
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(logs, nil))
	endTraces, err := tracing.Start(ctx, "fleetboard", build().Server, log)
	if err != nil {
		return err
	}
	defer endTraces()
	server, err := Start(ctx, cfg, log)
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
