// Package transporttest gives tests the transport of wake-ups that FLEETBOARD_TEST_TRANSPORT
// names: listen, which is the default, nats or poll.
package transporttest

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// Name returns which transport the tests use.
func Name(t testing.TB) string {
	t.Helper()
	switch name := os.Getenv("FLEETBOARD_TEST_TRANSPORT"); name {
	case "":
		return transport.NameListen
	case transport.NameListen, transport.NameNATS, transport.NamePoll:
		return name
	default:
		t.Fatalf("FLEETBOARD_TEST_TRANSPORT: there is no transport %q", name)
		return ""
	}
}

// Environ returns the settings, as "NAME=value", of a server that is woken over the transport of
// the tests.
func Environ() []string {
	name := os.Getenv("FLEETBOARD_TEST_TRANSPORT")
	switch name {
	case "":
		return nil
	case transport.NameNATS:
		return []string{"FLEETBOARD_TRANSPORT=" + name, "FLEETBOARD_NATS_URL=embedded"}
	default:
		return []string{"FLEETBOARD_TRANSPORT=" + name}
	}
}

// Notifier returns a notifier of a process on d over the transport of the tests.
func Notifier(t testing.TB, d *db.DB) *notifier.Notifier {
	t.Helper()
	return notifier.New(New(t, d), slog.New(slog.DiscardHandler))
}

// New returns the transport of the tests for a process on d.
func New(t testing.TB, d *db.DB) notifier.Transport {
	t.Helper()
	return Named(t, d, Name(t))
}

// Named returns a transport by its name for a process on d.
func Named(t testing.TB, d *db.DB, name string) notifier.Transport {
	t.Helper()
	switch name {
	case transport.NameNATS:
		dir := directory(t, d)
		n, err := transport.NewNATS(transport.NATSOptions{Embedded: transport.NewEmbedded(dir, Key), Key: Key})
		if err != nil {
			t.Fatal(err)
		}
		return n
	case transport.NamePoll:
		return transport.Poll{}
	default:
		return transport.NewListen(d)
	}
}

// Key is the secret key of the servers of the tests.
var Key = bytes.Repeat([]byte{7}, vault.KeySize)

var (
	mu          sync.Mutex
	directories = map[*db.DB]string{}
)

// directory returns what the processes on d have as their data directory.
func directory(t testing.TB, d *db.DB) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	dir := directories[d]
	if dir == "" {
		dir = t.TempDir()
		directories[d] = dir
		t.Cleanup(func() {
			mu.Lock()
			defer mu.Unlock()
			delete(directories, d)
		})
	}
	return dir
}

// Dropping is a transport that says it is connected and loses every message.
type Dropping struct{ notifier.Transport }

// Send sends nothing.
func (Dropping) Send(context.Context, []string) error { return nil }
