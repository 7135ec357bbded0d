package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"github.com/fleetboard/fleetboard/internal/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := profile(os.Getenv("PROFILED_TO"), func() error { return app.Serve(ctx, os.Environ(), os.Stdout, os.Stderr) })
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
