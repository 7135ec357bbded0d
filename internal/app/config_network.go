package app

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"
)

// NetworkConfig is about how clients reach the server.
type NetworkConfig struct {
	// TrustedProxies are the networks, as CIDR, whose X-Forwarded-For is believed.
	// Without any, a client's address is that of its connection.
	TrustedProxies []string `env:"FLEETBOARD_TRUSTED_PROXIES"`
	// RateLimit is how many requests a second a token may send; a person and an
	// address may send a quarter of it. 0 is no limit.
	RateLimit int `env:"FLEETBOARD_RATE_LIMIT" envDefault:"200"`
	// AllowedHosts are the names that the server answers to beside that of its public
	// address.
	AllowedHosts []string `env:"FLEETBOARD_ALLOWED_HOSTS"`
	// IssuerAllow are networks, as CIDR, that are not public and in which issuers that
	// workspaces trust are asked all the same.
	IssuerAllow []string `env:"FLEETBOARD_ISSUER_ALLOW"`
	// MetricsListen is the address, host:port, on which /metrics is answered to
	// whoever reaches it. Without it the server's own address answers /metrics, to
	// this machine only.
	MetricsListen string `env:"FLEETBOARD_METRICS_LISTEN"`
	// KEDAListen is the address, host:port, on which KEDA is answered over gRPC; without it
	// it is not.
	KEDAListen string `env:"FLEETBOARD_KEDA_LISTEN"`
	// DrainSeconds is how long a server that was asked to end still answers everything, while
	// /readyz fails, so that a proxy sends it nothing any more.
	DrainSeconds int `env:"FLEETBOARD_DRAIN_SECONDS" envDefault:"0"`
}

// maxDrain is how many seconds a server may take before it begins to end.
const maxDrain = 60

// maxRateLimit is more than one process can answer.
const maxRateLimit = 1_000_000

func (c NetworkConfig) check() error {
	_, err := c.proxies()
	_, issuerErr := c.issuerNetworks()
	err = errors.Join(err, issuerErr, c.checkHosts())
	if c.RateLimit < 0 || c.RateLimit > maxRateLimit {
		err = errors.Join(err, fmt.Errorf("FLEETBOARD_RATE_LIMIT: must be a number from 0, no limit, to %d requests a second",
			maxRateLimit))
	}
	if c.DrainSeconds < 0 || c.DrainSeconds > maxDrain {
		err = errors.Join(err, fmt.Errorf("FLEETBOARD_DRAIN_SECONDS: must be a number of seconds from 0 to %d", maxDrain))
	}
	if c.MetricsListen != "" {
		err = errors.Join(err, checkAddress("FLEETBOARD_METRICS_LISTEN", c.MetricsListen))
	}
	if c.KEDAListen != "" {
		err = errors.Join(err, checkAddress("FLEETBOARD_KEDA_LISTEN", c.KEDAListen))
	}
	return err
}

// hostName is a name of the DNS.
var hostName = regexp.MustCompile(`^([a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?\.)*[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?\.?$`)

func (c NetworkConfig) checkHosts() error {
	var errs []error
	for _, text := range c.AllowedHosts {
		if name := strings.TrimSpace(text); name != "" && !hostName.MatchString(name) {
			errs = append(errs, fmt.Errorf(
				"FLEETBOARD_ALLOWED_HOSTS: %q must be a name like fleet.example.com, without scheme, port and wildcard; "+
					"put commas between several", name))
		}
	}
	return errors.Join(errs...)
}

// issuerNetworks returns the networks of FLEETBOARD_ISSUER_ALLOW.
func (c NetworkConfig) issuerNetworks() ([]netip.Prefix, error) {
	var networks []netip.Prefix
	var errs []error
	for _, text := range c.IssuerAllow {
		text = strings.TrimSpace(text)
		network, err := netip.ParsePrefix(text)
		switch {
		case text == "":
		case err != nil:
			errs = append(errs, fmt.Errorf("FLEETBOARD_ISSUER_ALLOW: %q is no network like 10.0.0.0/8; put commas between several", text))
		default:
			networks = append(networks, network.Masked())
		}
	}
	return networks, errors.Join(errs...)
}

func (c NetworkConfig) proxies() ([]netip.Prefix, error) {
	var networks []netip.Prefix
	var errs []error
	for _, text := range c.TrustedProxies {
		text = strings.TrimSpace(text)
		network, err := netip.ParsePrefix(text)
		switch {
		case text == "":
		case err != nil:
			errs = append(errs, fmt.Errorf(
				"FLEETBOARD_TRUSTED_PROXIES: %q is no network like 10.0.0.0/8, and no single proxy like 10.0.0.5/32; "+
					"put commas between several", text))
		case network.Bits() == 0:
			errs = append(errs, fmt.Errorf("FLEETBOARD_TRUSTED_PROXIES: %s is everybody; name the networks of your proxies", text))
		case network.Addr().Is4In6():
			errs = append(errs, fmt.Errorf("FLEETBOARD_TRUSTED_PROXIES: write %s as a network of IPv4", text))
		default:
			networks = append(networks, network.Masked())
		}
	}
	return networks, errors.Join(errs...)
}

// ClientAddress returns the function that finds the address from which a request comes: the
// connection's address or, where that is of a trusted proxy, the last address in
// X-Forwarded-For that is not.
func (c NetworkConfig) ClientAddress() func(*http.Request) string {
	networks, err := c.proxies()
	if err != nil || len(networks) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, n := range networks {
		trust = append(trust, echo.TrustIPRange(&net.IPNet{IP: n.Addr().AsSlice(), Mask: net.CIDRMask(n.Bits(), n.Addr().BitLen())}))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}
