// Package transporttest gives tests the transport of wake-ups that FLEETBOARD_TEST_TRANSPORT
// names: listen, which is the default, nats or poll.
package transporttest

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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
		return embedded(t, directory(t, d))
	case transport.NamePoll:
		return transport.Poll{}
	default:
		return transport.NewListen(d)
	}
}

// Embedded returns the transport over NATS of a process that shares it with no other.
func Embedded(t testing.TB) notifier.Transport {
	t.Helper()
	return embedded(t, t.TempDir())
}

func embedded(t testing.TB, dir string) notifier.Transport {
	t.Helper()
	n, err := transport.NewNATS(transport.NATSOptions{Embedded: transport.NewEmbedded(dir, Key), Key: Key})
	if err != nil {
		t.Fatal(err)
	}
	return n
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

// KeptOffers counts what the embedded server of the processes on d keeps of offers.
func KeptOffers(t testing.TB, d *db.DB) int {
	t.Helper()
	e := transport.NewEmbedded(directory(t, d), Key)
	credentials, err := e.Credentials()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(nats.DefaultURL, nats.SetCustomDialer(e), nats.IgnoreDiscoveredServers(), credentials)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for info := range js.ListStreams(t.Context()).Info() {
		kept += int(info.State.Msgs) //nolint:gosec // a few
	}
	return kept
}

// Hear connects as the program of a factory, and returns what arrives on its subject.
func Hear(t testing.TB, c transport.FactoryCredentials) <-chan *nats.Msg {
	t.Helper()
	file := filepath.Join(t.TempDir(), "factory.creds")
	if err := os.WriteFile(file, []byte(c.Credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(c.URLs[0], nats.UserCredentials(file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	heard := make(chan *nats.Msg, 1000)
	if _, err = conn.ChanSubscribe(c.Subject, heard); err == nil {
		err = conn.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return heard
}

// Dropping is a transport that says it is connected and loses every message.
type Dropping struct{ notifier.Transport }

// Send sends nothing.
func (Dropping) Send(context.Context, []string) error { return nil }
