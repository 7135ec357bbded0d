package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"

	"fleetboard/internal/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := profile(os.Getenv("PROFILED_TO"), func() error { return serve(ctx, os.Stdout) })
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "profiled:", err)
		os.Exit(1)
	}
}

// profile runs work and writes its profiles.
func profile(path string, work func() error) (err error) {
	cpu, err := os.Create(path + ".cpu")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cpu.Close()) }()
	allocs, err := os.Create(path + ".allocs")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, allocs.Close()) }()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	err = work()
	pprof.StopCPUProfile()
	return errors.Join(err, pprof.Lookup("allocs").WriteTo(allocs, 0))
}

// serve runs the server until ctx ends.
func serve(ctx context.Context, out io.Writer) error {
	vars := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
	}
	cfg, err := app.LoadConfig(vars)
	if err != nil {
		return err
	}
	server, err := app.Start(ctx, cfg, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
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
