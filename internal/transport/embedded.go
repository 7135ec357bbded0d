package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	// natsPayload bounds a message that the embedded server takes, in bytes.
	natsPayload  = 64 << 10
	natsReadyFor = 5 * time.Second
	// natsFile has the address of the server, and natsLock is held by the process that runs it.
	natsFile = "nats-address"
	natsLock = "nats.lock"
	// natsStore is the folder in which it keeps offers, of at most natsRoom bytes.
	natsStore = "nats"
	natsRoom  = 4 * offersRoom
)

// Embedded is a NATS server for the processes of one machine that share a data directory. One of
// them runs it, on a loopback address; where that one has ended, the next that connects does.
type Embedded struct {
	dir string
	key []byte // what clients have to know

	mu     sync.Mutex
	lock   *flock.Flock
	server *server.Server // nil where another process runs it
	closed bool
}

// NewEmbedded returns the server of the data directory. It starts with the first connection.
func NewEmbedded(dir string, key []byte) *Embedded {
	return &Embedded{dir: dir, key: key, lock: flock.New(filepath.Join(dir, natsLock), flock.SetPermissions(0o600))}
}

// Credentials returns what a process that knows the key connects with.
func (e *Embedded) Credentials() (nats.Option, error) {
	a, err := newAuthority(e.key)
	if err != nil {
		return nil, err
	}
	return a.credentials(), nil
}

// address returns where the server is, which some process runs.
func (e *Embedded) address() (string, error) {
	text, err := os.ReadFile(filepath.Join(e.dir, natsFile))
	if err != nil {
		return "", fmt.Errorf("address of the embedded NATS server: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Dial connects to the server, and starts it where no process runs it. The address is not used.
func (e *Embedded) Dial(_, _ string) (net.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, net.ErrClosed
	}
	if e.server == nil {
		if err := os.MkdirAll(e.dir, 0o700); err != nil {
			return nil, err
		}
		mine, err := e.lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock of the embedded NATS server: %w", err)
		}
		if mine {
			if err := e.start(); err != nil {
				return nil, errors.Join(err, e.lock.Unlock())
			}
		}
	}
	if e.server != nil {
		return e.server.InProcessConn()
	}
	address, err := e.address()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// start runs the server in this process. The caller holds mu and the lock.
func (e *Embedded) start() error {
	o := &server.Options{ServerName: "fleetboard", Host: "127.0.0.1", Port: server.RANDOM_PORT,
		MaxPayload: natsPayload, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(e.dir, natsStore), JetStreamMaxStore: natsRoom, JetStreamMaxMemory: natsRoom}
	a, err := newAuthority(e.key)
	if err == nil {
		err = a.trust(o)
	}
	if err != nil {
		return fmt.Errorf("embedded NATS server: %w", err)
	}
	s, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("embedded NATS server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(natsReadyFor) {
		s.Shutdown()
		return errors.New("embedded NATS server: it does not listen")
	}
	if err := writeFile(filepath.Join(e.dir, natsFile), s.Addr().String()+"\n"); err != nil {
		s.Shutdown()
		return fmt.Errorf("embedded NATS server: %w", err)
	}
	e.server = s
	return nil
}

// writeFile replaces a file at once.
func writeFile(path, text string) error {
	next := path + ".new"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// close ends the server where this process runs it.
func (e *Embedded) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
		e.server = nil
	}
	_ = e.lock.Unlock()
}
