// Package apptest builds the services of a server for tests.
package apptest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/app"
)

// Build makes the services of a server on d with cheap password hashes and a log that nobody
// reads; change says what matters beside that. No other process notifies them: see Start.
func Build(t testing.TB, d *db.DB, change ...func(*app.Options)) *app.Services {
	t.Helper()
	o := app.Options{Key: accountstest.Key(7), HashCost: accountstest.Cheap, Log: slog.New(slog.DiscardHandler),
		Transport: transporttest.New(t, d)}
	for _, c := range change {
		c(&o)
	}
	s := app.Build(d, o)
	t.Cleanup(s.Close)
	return s
}

// Start is Build with a connection to the other processes of d.
func Start(t testing.TB, d *db.DB, change ...func(*app.Options)) *app.Services {
	t.Helper()
	s := Build(t, d, change...)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Wake.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return s
}
