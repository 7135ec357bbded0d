package outbound_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/outbound"
)

func TestOnlyThePublicNetworkIsReached(t *testing.T) {
	guard := outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32"),
		netip.MustParsePrefix("64:ff9b::/96")}, nil)
	for address, public := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "::ffff:93.184.216.34": true, "64:ff9b::5db8:d822": true,
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "fd00:1::5": true,
		"10.2.0.1": false, "127.0.0.1": false, "::1": false, "0.0.0.0": false, "::": false, "169.254.169.254": false,
		"192.168.1.1": false, "172.16.0.1": false, "100.64.0.1": false, "::ffff:127.0.0.1": false, "fe80::1": false,
		"fd00:2::5": false, "224.0.0.1": false, "255.255.255.255": false, "64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false,
		"64:ff9b::a02:1": false, "64:ff9b::a01:1": true,
	} {
		err := guard.Check(netip.MustParseAddr(address)) // where NAT64 is allowed, what it leads to counts
		if public && err != nil || !public && !errors.Is(err, outbound.ErrPrivate) {
			t.Errorf("%s: %v; public: %v", address, err, public)
		}
	}
}

// names is a resolver of a test; it knows no other names.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) (list []netip.Addr, err error) {
	for _, text := range n[host] {
		list = append(list, netip.MustParseAddr(text))
	}
	if list == nil {
		err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return list, err
}

var lookups = names{"one.example": {"127.0.0.1"}, "mixed.example": {"93.184.216.34", "::1"}, "open.example": {"93.184.216.34"}}

func TestAConnectionIsLookedAt(t *testing.T) {
	own := names{"localhost": {"::1"}, "127.0.0.1": {"127.0.0.1"}, "::ffff:127.0.0.1": {"::ffff:127.0.0.1"}}
	for _, guard := range []*outbound.Guard{outbound.NewGuard(nil, nil), outbound.NewGuard(nil, own)} {
		for _, address := range []string{"127.0.0.1:1", "localhost:1", "[::ffff:127.0.0.1]:1"} {
			if _, err := guard.Dial(t.Context(), "tcp", address, time.Second); !errors.Is(err, outbound.ErrPrivate) {
				t.Errorf("%s: %v; want ErrPrivate", address, err)
			}
		}
	}
}

func TestAHostIsLookedAtByAllItsAddresses(t *testing.T) {
	guard := outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, lookups)
	for host, public := range map[string]bool{"open.example": true, "unknown.example": true, "10.0.0.1": true, "93.184.216.34": true,
		"one.example": false, "mixed.example": false, "localhost": false, "a.LOCALHOST": false, "::1": false, "fe80::1%lo": false,
		"2001:4860:4860::8888%lo": false} {
		if err := guard.CheckHost(t.Context(), host); (err == nil) != public {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// A client follows no redirect, keeps no cookie, takes no proxy, and reads no endless headers.
func TestAClientStays(t *testing.T) {
	var asked, cookies int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		cookies += len(r.Cookies())
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		if r.URL.Path == "/long" {
			w.Header().Set("X-Long", strings.Repeat("x", 64<<10))
		}
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	t.Cleanup(server.Close)
	t.Setenv("HTTP_PROXY", server.URL)
	transport := outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil).Transport(time.Minute)
	if transport.Proxy != nil {
		t.Error("a proxy would connect for it")
	}
	client := outbound.Client(transport, time.Minute)
	get := func(path string) (int, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	for range 2 {
		if status, err := get("/"); err != nil || status != http.StatusFound {
			t.Errorf("%d, %v", status, err)
		}
	}
	if _, err := get("/long"); err == nil {
		t.Error("64 KB of headers are read")
	}
	if asked != 3 || cookies != 0 {
		t.Errorf("asked %d times, with %d cookies", asked, cookies)
	}
}
