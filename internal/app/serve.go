package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Serve runs the server as its environment ("NAME=value") says until ctx ends. What
// a person needs is written to out, the log to logs.
func Serve(ctx context.Context, environ []string, out, logs io.Writer) error {
	cfg, err := LoadConfig(Environment(environ))
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

// Environment is an environment by name.
func Environment(environ []string) map[string]string {
	vars := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
	}
	return vars
}
