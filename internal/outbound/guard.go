package outbound

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// lookupTimeout bounds the look at the names of a host.
const lookupTimeout = 3 * time.Second

// ErrPrivate is the answer to an address that is not of the public network.
var ErrPrivate = errors.New("the address is not one of the public network")

// nat64 are the IPv6 addresses through which a network reaches IPv4 ones, which they end with.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Resolver finds the addresses of a host, as *net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Guard lets connections through to the public network and to networks that the operator allows.
type Guard struct {
	public   *ssrf.Guardian
	resolver Resolver
}

// NewGuard returns a guard that lets connections through to the allowed networks too. A resolver of nil is
// that of the system.
func NewGuard(allowed []netip.Prefix, resolver Resolver) *Guard {
	var v4, v6 []netip.Prefix
	for _, network := range allowed {
		if network.Addr().Is4() {
			v4 = append(v4, network)
		} else {
			v6 = append(v6, network)
		}
	}
	return &Guard{ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...)), resolver}
}

// Check returns ErrPrivate for an address that may not be connected to.
func (g *Guard) Check(ip netip.Addr) error {
	ip = ip.Unmap()
	if g.public.SafeAddr(ip) != nil {
		return ErrPrivate
	}
	if nat64.Contains(ip) {
		last := ip.As16()
		return g.Check(netip.AddrFrom4([4]byte(last[12:])))
	}
	return nil
}

// CheckHost returns ErrPrivate for a host that may not be connected to: an IP address, or a name of which one
// address may not be. A name that cannot be looked up is let through, since Dial checks each connection.
func (g *Guard) CheckHost(ctx context.Context, host string) error {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return ErrPrivate
		}
		return g.Check(ip)
	}
	if name := strings.ToLower(host); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return g.Check(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	var by Resolver = net.DefaultResolver
	if g.resolver != nil {
		by = g.resolver
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := by.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for _, ip := range found {
		if err := g.Check(ip); err != nil {
			return err
		}
	}
	return nil
}

// Dial connects to a host, and gives up on an address after the timeout. It looks at the address of each
// connection itself, whatever the name meant before, and returns ErrPrivate where it may not be connected to.
func (g *Guard) Dial(ctx context.Context, network, address string, timeout time.Duration) (net.Conn, error) {
	dialer := net.Dialer{Timeout: timeout, Control: g.control}
	if g.resolver == nil {
		return dialer.DialContext(ctx, network, address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, err := g.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	failed := errors.New("the host has no address")
	for _, ip := range found {
		var conn net.Conn
		if conn, failed = dialer.DialContext(ctx, network, net.JoinHostPort(ip.Unmap().String(), port)); failed == nil {
			return conn, nil
		}
	}
	return nil, failed
}

// control is called by the dialer with the address that it is about to connect to.
func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return ErrPrivate
	}
	return g.Check(at.Addr())
}
