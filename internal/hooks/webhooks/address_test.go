package webhooks_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/address"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/outbound"
)

// names is a resolver of a test: what a name leads to, the next list of them at each look.
type names struct {
	mu   sync.Mutex
	list map[string][][]string
}

// LookupNetIP looks a name up, and an address as net.Resolver does.
func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	answers := n.list[strings.TrimSuffix(strings.ToLower(host), ".")]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.list[strings.ToLower(host)] = answers[1:]
	}
	var found []netip.Addr
	for _, text := range answers[0] {
		found = append(found, netip.MustParseAddr(text))
	}
	return found, nil
}

// trap listens on all addresses of this machine, and counts who connects.
type trap struct {
	port string
	seen atomic.Int64
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &trap{port: fmt.Sprint(l.Addr().(*net.TCPAddr).Port)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.seen.Add(1)
			_ = c.Close()
		}
	}()
	return p
}

// tricks are hosts that lead to this machine or to a private network, or try to; %s is the port of
// the trap.
var tricks = []string{
	"http://127.0.0.1:%s/", "https://127.0.0.1:%s/", "http://127.0.0.1:%s", "http://127.1.2.3:%s/", "http://127.255.255.254:%s/",
	"http://0.0.0.0:%s/", "http://10.0.0.1:%s/", "http://172.16.0.1:%s/", "http://172.31.255.255:%s/", "http://192.168.1.1:%s/",
	"http://169.254.169.254:%s/latest/meta-data/", "http://100.64.0.1:%s/", "http://192.0.0.1:%s/", "http://192.0.2.1:%s/",
	"http://198.18.0.1:%s/", "http://198.51.100.1:%s/", "http://203.0.113.1:%s/", "http://224.0.0.1:%s/", "http://240.0.0.1:%s/",
	"http://255.255.255.255:%s/",
	// Other ways of writing it.
	"http://127.1:%s/", "http://127.0.1:%s/", "http://0:%s/", "http://2130706433:%s/", "http://0x7f000001:%s/", "http://0x7f.0.0.1:%s/",
	"http://0x7f.1:%s/", "http://0177.0.0.1:%s/", "http://017700000001:%s/", "http://0177.0x0.0.1:%s/", "http://127.0.0.01:%s/",
	"http://00000127.0.0.1:%s/", "http://127.0.0.1.:%s/", "http://%%31%%32%%37.0.0.1:%s/",
	// IPv6.
	"http://[::1]:%s/", "http://[0:0:0:0:0:0:0:1]:%s/", "http://[::]:%s/", "http://[::ffff:127.0.0.1]:%s/", "http://[::ffff:7f00:1]:%s/",
	"http://[0:0:0:0:0:ffff:127.0.0.1]:%s/", "http://[::127.0.0.1]:%s/", "http://[64:ff9b::127.0.0.1]:%s/", "http://[64:ff9b::7f00:1]:%s/",
	"http://[64:ff9b:1::7f00:1]:%s/", "http://[2002:7f00:1::]:%s/", "http://[2002:7f00:0001::1]:%s/", "http://[2001:0:7f00:1::]:%s/",
	"http://[fe80::1]:%s/", "http://[fe80::1%%25lo]:%s/", "http://[::1%%25lo]:%s/", "http://[fc00::1]:%s/", "http://[fd12:3456::1]:%s/",
	"http://[ff02::1]:%s/", "http://[2001:db8::1]:%s/", "http://[100::1]:%s/", "http://[::ffff:0:127.0.0.1]:%s/",
	// Names.
	"http://localhost:%s/", "http://LOCALHOST:%s/", "http://localhost.:%s/", "http://a.localhost:%s/", "http://inside.example:%s/",
	"http://mixed.example:%s/", "http://mapped.example:%s/", "http://nat.example:%s/", "http://inside.example.:%s/",
	// Letters that are taken for digits and dots.
	"http://１２７.0.0.1:%s/", "http://①②⑦.0.0.1:%s/", "http://127。0。0。1:%s/", "http://ⓛocalhost:%s/", "http://xn--1-ega.0.0.1:%s/",
	// Around the host.
	"http://hooks.example@127.0.0.1:%s/", "http://hooks.example:x@127.0.0.1:%s/", "http://127.0.0.1:%s@hooks.example/",
	"http://hooks.example#@127.0.0.1:%s/", "http://hooks.example\\@127.0.0.1:%s/", "http://127.0.0.1\t:%s/", "http:127.0.0.1:%s/",
	"//127.0.0.1:%s/", "ftp://hooks.example:%s/", "file:///etc/passwd?%s", "gopher://hooks.example:%s/", "http://:%s/", "http://hooks.example:0%s/",
	"http://hooks.example:99999/%s", "http://hooks.example:/%s", "http://hooks.example:-1/%s",
}

func privateNames() *names {
	return &names{list: map[string][][]string{
		"inside.example": {{"127.0.0.1"}}, "mixed.example": {{"93.184.215.14", "127.0.0.1"}}, "mapped.example": {{"::ffff:127.0.0.1"}},
		"nat.example": {{"64:ff9b::7f00:1"}}, "localhost": {{"127.0.0.1"}}, "a.localhost": {{"127.0.0.1"}}, "hooks.example": {{"93.184.215.14"}},
		// A public address while it is saved, another one later.
		"rebinds.example": {{"93.184.215.14"}, {"127.0.0.1"}},
		"turns.example":   {{"93.184.215.14"}, {"::ffff:127.0.0.1"}, {"::1"}},
	}}
}

// No address leads to this machine or a private network, when it is saved or when it is sent to.
func TestNoAddressLeadsToAPrivateNetwork(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *app.Options) { o.Webhooks.Allow, o.Webhooks.Resolver = nil, privateNames() })
	trap := newTrap(t)
	for _, trick := range tricks {
		url := fmt.Sprintf(trick, trap.port)
		w, _, err := s.Webhooks.Create(t.Context(), s.who, webhooks.New{URL: url}, nil)
		if !fault.Is(err, fault.Validation) {
			t.Errorf("%s was taken: %v", url, err)
		}
		if err == nil {
			_ = s.Webhooks.Delete(t.Context(), s.who, w.ID)
		}
	}
	if n := trap.seen.Load(); n > 0 {
		t.Errorf("the trap saw %d connections", n)
	}
	if len(tricks) < 60 {
		t.Errorf("only %d tricks were tried", len(tricks))
	}
}

// What came into the rows, or means something else by now, is refused when it is connected to.
func TestNoConnectionIsMadeToAPrivateNetwork(t *testing.T) {
	t.Parallel()
	lookups := privateNames()
	trap := newTrap(t)
	s := newSite(t, func(o *app.Options) { o.Webhooks.Allow, o.Webhooks.Resolver = nil, lookups })
	guard, client := outbound.NewGuard(nil, lookups), s.Webhooks.Client()
	all := append([]string{"http://rebinds.example:%s/", "http://turns.example:%s/", "http://turns.example:%s/", "http://turns.example:%s/"}, tricks...)
	for _, name := range []string{"rebinds.example", "turns.example"} {
		if wrong := address.CheckWebhook(t.Context(), guard, "http://"+name+"/"); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
	}
	for _, trick := range all {
		url := fmt.Sprintf(trick, trap.port)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		if err != nil || r.URL.Hostname() == "hooks.example" { // that leads to the public network
			continue
		}
		answer, err := client.Do(r)
		if err == nil {
			_ = answer.Body.Close()
			t.Errorf("%s answered", url)
		}
	}
	if n := trap.seen.Load(); n > 0 {
		t.Errorf("the trap saw %d connections", n)
	}
}

// A redirect is an answer like another one that is no 2xx.
func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	trap := newTrap(t)
	s := newSite(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		to := newReceiver(t, func(_ arrival, w http.ResponseWriter) int {
			w.Header().Set("Location", "http://127.0.0.1:"+trap.port+"/")
			return status
		})
		s.webhook(to)
	}
	s.sends()
	list, err := s.Webhooks.List(t.Context(), s.who)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		if _, err := s.Webhooks.Test(t.Context(), s.who, w.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range list {
		s.until("a test has failed", func() bool { return len(s.deliveries(w, webhooks.Failed)) == 1 })
		if d := s.deliveries(w, webhooks.Failed)[0]; !strings.Contains(d.Error, "redirects are not followed") {
			t.Errorf("it says %q", d.Error)
		}
	}
	if n := trap.seen.Load(); n > 0 {
		t.Errorf("the trap saw %d connections", n)
	}
}

// Public addresses, and networks that the operator names, are taken.
func TestGoodAddressesAreTaken(t *testing.T) {
	t.Parallel()
	lookups := privateNames()
	allowed := outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fd00::/8"),
		netip.MustParsePrefix("64:ff9b::/96")}, lookups)
	public := outbound.NewGuard(nil, lookups)
	for _, c := range []struct {
		url          string
		open, inside bool
	}{
		{"https://hooks.example/a?b=c", true, true}, {"http://hooks.example:8443/", true, true}, {"https://unknown.example/", true, true},
		{"https://93.184.215.14/", true, true}, {"https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/", true, true},
		{"https://xn--bcher-kva.example/", true, true}, {"https://bücher.example/", false, false}, {"http://127.0.0.1:8080/", false, true},
		{"http://localhost:8080/", false, true}, {"http://[fd00::1]/", false, true}, {"http://10.0.0.1/", false, false},
		{"http://[64:ff9b::5db8:d70e]/", false, true}, {"http://[64:ff9b::a00:1]/", false, false}, {"http://inside.example/", false, true},
		{"https://" + strings.Repeat("a", 2000) + ".example/", false, false}, {"", false, false}, {"hooks.example", false, false},
	} {
		for _, g := range []struct {
			guard *outbound.Guard
			want  bool
		}{{public, c.open}, {allowed, c.inside}} {
			if wrong := address.CheckWebhook(t.Context(), g.guard, c.url); (wrong == "") != g.want {
				t.Errorf("%.80s: %q", c.url, wrong)
			}
		}
	}
}
