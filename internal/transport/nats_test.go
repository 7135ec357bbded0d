package transport_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

func key(b byte) []byte { return bytes.Repeat([]byte{b}, vault.KeySize) }

// node is a transport that runs, with what it has received.
type node struct {
	t *testing.T
	*transport.NATS

	connected    chan struct{}
	disconnected chan error
	messages     chan string
	stop         func()
}

func (n *node) Connected() { n.connected <- struct{}{} }

func (n *node) Disconnected(err error) {
	select {
	case n.disconnected <- err:
	default:
	}
}

func (n *node) Receive(message string) { n.messages <- message }

// start runs a transport until the test ends.
func start(t *testing.T, o transport.NATSOptions) *node {
	t.Helper()
	over, err := transport.NewNATS(o)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, NATS: over, connected: make(chan struct{}, 100), disconnected: make(chan error, 100), messages: make(chan string, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- over.Run(ctx, n) }()
	stopped := false
	n.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
		over.Close(context.Background())
	}
	t.Cleanup(n.stop)
	return n
}

// connects waits until it is connected.
func (n *node) connects() *node {
	n.t.Helper()
	select {
	case <-n.connected:
	case <-time.After(patience):
		n.t.Fatal("it does not connect")
	}
	return n
}

// breaks waits until it knows that it is not connected.
func (n *node) breaks() error {
	n.t.Helper()
	select {
	case err := <-n.disconnected:
		return err
	case <-time.After(patience):
		n.t.Fatal("it does not notice")
		return nil
	}
}

// sends sends a message, which must be possible.
func (n *node) sends(message string) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	if err := n.Send(ctx, []string{message}); err != nil {
		n.t.Fatalf("send %q: %v", message, err)
	}
}

// receives waits for the next message and compares it.
func (n *node) receives(message string) {
	n.t.Helper()
	select {
	case got := <-n.messages:
		if got != message {
			n.t.Fatalf("received %q, want %q", got, message)
		}
	case <-time.After(patience):
		n.t.Fatalf("nothing was received, want %q", message)
	}
}

// broker starts a server on a loopback address.
func broker(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoSigs, o.NoLog = "127.0.0.1", true, true
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server is not ready")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func embedded(dir string) transport.NATSOptions {
	return transport.NATSOptions{Embedded: transport.NewEmbedded(dir, key(1)), Key: key(1)}
}

// The processes of a data directory share one server, and go on after the one that ran it.
func TestTheNextProcessRunsTheEmbeddedServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	one := start(t, embedded(dir)).connects()
	two, three := start(t, embedded(dir)).connects(), start(t, embedded(dir)).connects()
	one.sends("first")
	two.receives("first")
	three.receives("first")
	one.stop()
	two.connects()
	three.connects()
	two.sends("second")
	three.receives("second")
	info, err := os.Stat(filepath.Join(dir, "nats-address"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the address is in a file of mode %v, %v", info.Mode(), err)
	}
}

// Another program of the machine can neither read nor send.
func TestTheEmbeddedServerTakesNobodyElse(t *testing.T) {
	dir := t.TempDir()
	start(t, embedded(dir)).connects()
	address, err := os.ReadFile(filepath.Join(dir, "nats-address"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(address), "127.0.0.1:") {
		t.Errorf("it listens on %s", address)
	}
	conn, err := nats.Connect("nats://" + strings.TrimSpace(string(address)))
	if err == nil {
		conn.Close()
		t.Error("it takes a client without the token")
	}
}

// Whoever may read every subject of a broker that others use too learns no name of a workspace,
// and cannot wake anybody.
func TestOthersOnTheBrokerLearnAndDoNothing(t *testing.T) {
	b := broker(t, server.Options{})
	one := start(t, transport.NATSOptions{URL: b.ClientURL(), Key: key(1)}).connects()
	other := start(t, transport.NATSOptions{URL: b.ClientURL(), Key: key(2)}).connects()
	conn, err := nats.Connect(b.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	seen, err := conn.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	one.sends("message:a-workspace:agent:mara")
	one.receives("message:a-workspace:agent:mara")
	m, err := seen.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	if all := m.Subject + string(m.Data); strings.Contains(all, "workspace") || strings.Contains(all, "mara") {
		t.Errorf("%s says %q", m.Subject, m.Data)
	}
	// A forged one, one that is cut, and one that is moved to the subject of another database.
	forged := append([]byte{}, m.Data...)
	forged[len(forged)-1] ^= 1
	for _, data := range [][]byte{forged, m.Data[:10], nil, []byte("x\njob:1")} {
		if err := conn.Publish(m.Subject, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	one.sends("next")
	one.receives("next")
	other.sends("of its own")
	other.receives("of its own")
}

// A restart of the broker is noticed, and what was not received is announced as missed.
func TestABrokerThatComesBack(t *testing.T) {
	b := broker(t, server.Options{})
	port := portOf(t, b.Addr().String())
	one := start(t, transport.NATSOptions{URL: b.ClientURL(), Key: key(1)}).connects()
	two := start(t, transport.NATSOptions{URL: b.ClientURL(), Key: key(1)}).connects()
	b.Shutdown()
	b.WaitForShutdown()
	_ = one.breaks()
	if err := one.Send(t.Context(), []string{"lost"}); err == nil {
		t.Error("a message was sent without a server")
	}
	broker(t, server.Options{Port: port})
	one.connects()
	two.connects()
	one.sends("again")
	two.receives("again")
}

// A broker that is not there yet, or refuses the credentials, is tried for as long as it takes.
func TestABrokerThatRefuses(t *testing.T) {
	b := broker(t, server.Options{Username: "fleet", Password: "a"})
	address := b.Addr().String()
	one := start(t, transport.NATSOptions{URL: "nats://fleet:b@" + address, Key: key(1)})
	if err := one.breaks(); err == nil || strings.Contains(err.Error(), "fleet:b") {
		t.Errorf("the refusal is %v", err)
	}
	start(t, transport.NATSOptions{URL: "nats://fleet:a@" + address, Key: key(1)}).connects()
	b.Shutdown()
	b.WaitForShutdown()
	broker(t, server.Options{Port: portOf(t, address), Username: "fleet", Password: "b"})
	one.connects()
	gone := start(t, transport.NATSOptions{URL: b.ClientURL(), Creds: filepath.Join(t.TempDir(), "none"), Key: key(1)})
	if err := gone.breaks(); err == nil {
		t.Error("no error without the file of credentials")
	}
}

// A user who may not use the subject is not called connected.
func TestCredentialsWithoutTheSubject(t *testing.T) {
	b := broker(t, server.Options{Users: []*server.User{{Username: "fleet", Password: "a",
		Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Allow: []string{"other.>"}}}}}})
	one := start(t, transport.NATSOptions{URL: "nats://fleet:a@" + b.Addr().String(), Key: key(1)})
	if err := one.breaks(); !strings.Contains(strings.ToLower(err.Error()), "permission") {
		t.Errorf("the refusal is %v", err)
	}
}
