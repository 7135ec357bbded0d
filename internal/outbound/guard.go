package outbound

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// ErrPrivate is the answer to an address that is not of the public network.
var ErrPrivate = errors.New("the address is not one of the public network")

// nat64 are the IPv6 addresses through which a network reaches IPv4 ones, which they end with.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Guard lets connections through to the public network and to networks that the operator allows.
type Guard struct{ public *ssrf.Guardian }

// NewGuard returns a guard that lets connections through to the allowed networks too.
func NewGuard(allowed []netip.Prefix) *Guard {
	var v4, v6 []netip.Prefix
	for _, network := range allowed {
		if network.Addr().Is4() {
			v4 = append(v4, network)
		} else {
			v6 = append(v6, network)
		}
	}
	return &Guard{ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))}
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

// Dialer returns a dialer that gives up after the timeout. It looks at the address of each connection
// itself, whatever a name meant before, and returns ErrPrivate where it may not be connected to.
func (g *Guard) Dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return ErrPrivate
		}
		return g.Check(at.Addr())
	}}
}
