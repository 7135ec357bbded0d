package webhooks

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/outbound"
)

const (
	// MaxURL bounds an address, in characters.
	MaxURL = 2000
	// lookupTimeout bounds the look at the names of an address that is saved, connectTimeout a
	// connection to one of its hosts.
	lookupTimeout  = 3 * time.Second
	connectTimeout = 5 * time.Second
)

// Resolver finds the addresses of a host, as *net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// guard keeps connections to the public network and to networks that the operator names.
type guard struct {
	*outbound.Guard

	resolver Resolver
}

func newGuard(allowed []netip.Prefix, resolver Resolver) *guard {
	return &guard{outbound.NewGuard(allowed), resolver}
}

// dial connects to a host that the guard lets through, whatever its name means by now.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, err := g.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	dialer := g.Dialer(connectTimeout)
	failed := errors.New("the host has no address")
	for _, ip := range found {
		var conn net.Conn
		if conn, failed = dialer.DialContext(ctx, network, net.JoinHostPort(ip.Unmap().String(), port)); failed == nil {
			return conn, nil
		}
	}
	return nil, failed
}

const notPublic = "It must lead to the public network: private, loopback and link-local addresses are refused. " +
	"The operator of the server may allow networks with FLEETBOARD_WEBHOOK_ALLOW."

// hostName is a name of the DNS, at least in form; its last part is no number, which some programs
// take for an address.
var hostName = regexp.MustCompile(`(?i)^([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*[a-z]([a-z0-9-]*[a-z0-9])?$`)

// checkURL returns what is wrong with an address, as a fault of the field url. A name that cannot be
// looked up now is none: whoever connects checks again.
func (g *guard) checkURL(ctx context.Context, text string) error {
	u, err := parseURL(text)
	if err != nil {
		return err
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" || g.Check(ip) != nil {
			return fault.Invalid("url", notPublic)
		}
		return nil
	}
	if !hostName.MatchString(host) || len(host) > 253 {
		return fault.Invalid("url", "Its host must be a name like hooks.example.com or an IP address in its usual form, in ASCII "+
			"(xn--… for other letters) and without a dot at the end.")
	}
	lower := strings.ToLower(host)
	if lower == "localhost" || strings.HasSuffix(lower, ".localhost") {
		if g.Check(netip.AddrFrom4([4]byte{127, 0, 0, 1})) != nil {
			return fault.Invalid("url", notPublic)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := g.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for _, ip := range found {
		if g.Check(ip) != nil {
			return fault.Invalid("url", notPublic)
		}
	}
	return nil
}

// parseURL reads an address of the right form.
func parseURL(text string) (*url.URL, error) {
	p := fault.Problems{}
	p.Line("url", text, MaxURL)
	u, err := url.Parse(text)
	switch {
	case len(p) > 0:
	case err != nil || u.Opaque != "" || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		p.Add("url", "It must be an address like https://hooks.example.com/fleetboard.")
	case u.User != nil:
		p.Add("url", "It must have no user name and no password: the signature says who sends.")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		p.Add("url", "It must have no fragment (#).")
	case strings.HasSuffix(u.Host, ":"):
		p.Add("url", "It must have a port after the colon.")
	case u.Port() != "":
		if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 || u.Port()[0] == '0' {
			p.Add("url", "Its port must be a number from 1 to 65535.")
		}
	}
	return u, p.Err()
}

// Shown returns of an address what everybody may see: where it leads, and no path, which is often a
// secret.
func Shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if u.Path == "" && u.RawQuery == "" {
		return u.Scheme + "://" + u.Host
	}
	return u.Scheme + "://" + u.Host + "/…"
}
