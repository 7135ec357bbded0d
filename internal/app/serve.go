package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/caarlos0/env/v11"
)

// Serve runs the server, configured by its environment ("NAME=value"), until ctx ends. It
// writes what a person needs to out, and the log to logs.
func Serve(ctx context.Context, environ []string, out, logs io.Writer) error {
	cfg, err := LoadConfig(env.ToMap(environ))
	if err != nil {
		return err
	}
	server, err := Start(ctx, cfg, slog.New(slog.NewTextHandler(logs, nil)))
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
