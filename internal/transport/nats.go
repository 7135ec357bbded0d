package transport

import (
	"context"
	"crypto/cipher"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// subjects begins the subject of each database: what credentials have to allow.
	subjects = "fleetboard.wake."
	// nameSize is how many bytes of a derived name are in a subject.
	nameSize = 16
	// natsWait and natsSpread are how long after a lost connection the next server is tried.
	natsWait   = 250 * time.Millisecond
	natsSpread = 250 * time.Millisecond
)

// errNotConnected is for what is sent before Run has made the connection.
var errNotConnected = errors.New("NATS is not connected yet")

// NATSOptions say which servers are used, and how.
type NATSOptions struct {
	// URL has the addresses of a cluster's servers, with commas between them. It is empty with
	// Embedded.
	URL string
	// Creds is a file with a user's JWT and seed, "" where the servers need none.
	Creds string
	// SigningKey is a file with the seed of the account of Creds, or of a key that signs for it: for
	// credentials of factories; "" makes none.
	SigningKey string
	// Embedded is the server of this machine in the place of a cluster.
	Embedded *Embedded
	// Key is the server's secret key: processes with the same one hear each other, and nobody
	// else can read or make their messages.
	Key []byte
}

// NATS sends and receives on one subject of core NATS.
type NATS struct {
	options NATSOptions
	subject string
	seal    cipher.AEAD
	signer  *signer     // of factories' credentials; nil where there is no key for that
	own     nats.Option // what the embedded server wants

	connected chan struct{} // closed once conn is there
	mu        sync.Mutex
	conn      *nats.Conn // nil before Run
}

// NewNATS returns the transport over NATS. Run connects.
func NewNATS(o NATSOptions) (*NATS, error) {
	derived := vault.Derive(o.Key, "fleetboard wake-ups v1", nameSize+chacha20poly1305.KeySize)
	seal, err := chacha20poly1305.NewX(derived[nameSize:])
	if err != nil {
		return nil, fmt.Errorf("key of the wake-ups: %w", err)
	}
	n := &NATS{options: o, subject: subjects + hex.EncodeToString(derived[:nameSize]), seal: seal, connected: make(chan struct{})}
	switch {
	case o.Embedded != nil:
		a, err := newAuthority(o.Embedded.key)
		if err != nil {
			return nil, fmt.Errorf("keys of the embedded NATS server: %w", err)
		}
		n.signer, n.own = &a.signer, a.credentials()
	case o.SigningKey != "":
		if n.signer, err = readSigner(o.SigningKey, o.Creds); err != nil {
			return nil, fmt.Errorf("key that signs credentials of NATS: %w", err)
		}
	}
	return n, nil
}

// Name is nats.
func (*NATS) Name() string { return NameNATS }

// Run stays connected and receives until ctx ends.
func (n *NATS) Run(ctx context.Context, r Receiver) error {
	for failures := 0; ctx.Err() == nil; failures++ {
		err := n.receive(ctx, r)
		if err != nil && ctx.Err() == nil {
			r.Disconnected(err) // the servers were not even asked: the file of credentials, say
			_ = signal.Sleep(ctx, signal.Backoff(backoffFirst, backoffLongest, failures+1))
		}
	}
	return nil
}

// receive makes the connection, which makes itself again, and receives until ctx ends.
func (n *NATS) receive(ctx context.Context, r Receiver) error {
	subscribed := make(chan struct{})
	connected := func(c *nats.Conn) {
		select {
		case <-subscribed:
		case <-ctx.Done():
			return
		}
		// The answer comes after the server has read the subscription.
		if err := c.FlushTimeout(probeTimeout); err == nil {
			r.Connected()
		}
	}
	conn, err := nats.Connect(n.url(), append(n.connectOptions(),
		nats.ConnectHandler(connected),
		nats.ReconnectHandler(connected),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { r.Disconnected(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { r.Disconnected(err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { n.failed(r, err) }))...)
	if err != nil {
		return err
	}
	sub, err := conn.Subscribe(n.subject, func(m *nats.Msg) {
		if text, ok := open(n.seal, n.subject, m.Data); ok {
			r.Receive(text)
		}
	})
	if err != nil {
		conn.Close()
		return err
	}
	n.mu.Lock()
	n.conn = conn
	n.mu.Unlock()
	close(n.connected)
	close(subscribed)
	<-ctx.Done()
	_ = sub.Unsubscribe()
	return nil
}

// failed takes an error that leaves the connection as it is.
func (n *NATS) failed(r Receiver, err error) {
	switch {
	case errors.Is(err, nats.ErrSlowConsumer):
		r.Connected() // messages were dropped
	case errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), n.subject):
		r.Disconnected(err) // others are about offers, which have errors of their own
	}
}

func (n *NATS) url() string {
	if n.options.Embedded != nil {
		return nats.DefaultURL // the dialer knows better
	}
	return n.options.URL
}

func (n *NATS) connectOptions() []nats.Option {
	list := []nats.Option{
		nats.Name("fleetboard"),
		nats.Timeout(probeTimeout),
		nats.PingInterval(probeEvery),
		nats.MaxPingsOutstanding(1),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(natsWait),
		nats.ReconnectJitter(natsSpread, natsSpread),
		nats.ReconnectBufSize(-1), // what cannot be sent is kept by who sends it
	}
	if n.options.Creds != "" {
		list = append(list, nats.UserCredentials(n.options.Creds))
	}
	if e := n.options.Embedded; e != nil {
		list = append(list, nats.SetCustomDialer(e), n.own, nats.IgnoreDiscoveredServers())
	}
	return list
}

// Send returns once a server has the messages.
func (n *NATS) Send(ctx context.Context, messages []string) error {
	n.mu.Lock()
	conn := n.conn
	n.mu.Unlock()
	if conn == nil {
		return errNotConnected
	}
	for _, m := range messages {
		if err := conn.Publish(n.subject, sealed(n.seal, n.subject, m)); err != nil {
			return err
		}
	}
	return conn.FlushWithContext(ctx)
}

// Close ends the connection, and the server of this process.
func (n *NATS) Close(context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn != nil {
		n.conn.Close()
		n.conn = nil
	}
	if n.options.Embedded != nil {
		n.options.Embedded.close()
	}
}
