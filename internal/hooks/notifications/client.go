package notifications

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

const connectTimeout = 5 * time.Second

// errPrivate is the answer to an address that is not of the public network.
var errPrivate = errors.New("the address is not one of the public network")

// nat64 are the IPv6 addresses through which a network reaches IPv4 ones, which they end with.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// dialGuard keeps connections to the public network and to networks that the operator allows. It
// looks at the address of the connection itself, whatever its name meant before.
type dialGuard struct{ public *ssrf.Guardian }

func newDialGuard(allowed []netip.Prefix) dialGuard {
	var v4, v6 []netip.Prefix
	for _, network := range allowed {
		if network.Addr().Is4() {
			v4 = append(v4, network)
		} else {
			v6 = append(v6, network)
		}
	}
	return dialGuard{ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))}
}

func (g dialGuard) check(ip netip.Addr) error {
	ip = ip.Unmap()
	if g.public.SafeAddr(ip) != nil {
		return errPrivate
	}
	if nat64.Contains(ip) {
		last := ip.As16()
		return g.check(netip.AddrFrom4([4]byte(last[12:])))
	}
	return nil
}

func (g dialGuard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errPrivate
	}
	return g.check(at.Addr())
}

// newClient returns a client for addresses of strangers: no redirects, no proxies, no cookies.
func newClient(allowed []netip.Prefix) *http.Client {
	dialer := net.Dialer{Timeout: connectTimeout, Control: newDialGuard(allowed).control}
	return &http.Client{
		Timeout:       sendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: connectTimeout, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 32 << 10},
	}
}

// checkAddress returns the form that an address must have and has not, "" for a good one.
func checkAddress(text string, schemes ...string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "" || len(text) > MaxURL ||
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "It must be an address like https://hooks.example.com/me."
	case !slices.Contains(schemes, u.Scheme):
		return "It must begin with " + strings.Join(schemes, ":// or ") + "://."
	case u.User != nil:
		return "It must have no user name and no password."
	case u.Fragment != "":
		return "It must have no fragment (#)."
	}
	return ""
}

// answered returns the refusal that an answer is, nil for one of 2xx.
func answered(what string, res *http.Response, err error) error {
	switch {
	case errors.Is(err, errPrivate):
		return &refusal{text: what + " is in a private network, which the operator of the server has not allowed.", final: true, cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &refusal{text: what + " did not answer in time.", cause: err}
	case err != nil:
		return &refusal{text: what + " could not be reached.", cause: err}
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode/100 == 2 {
		return nil
	}
	return &refusal{text: fmt.Sprintf("%s answered %d.", what, res.StatusCode), final: res.StatusCode == http.StatusGone}
}

func escape(text string) string { return url.QueryEscape(text) }
