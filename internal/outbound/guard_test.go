package outbound_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/outbound"
)

func TestOnlyThePublicNetworkIsReached(t *testing.T) {
	guard := outbound.NewGuard([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32"),
		netip.MustParsePrefix("64:ff9b::/96")})
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

func TestADialerLooksAtTheConnection(t *testing.T) {
	for _, address := range []string{"127.0.0.1:1", "localhost:1", "[::ffff:127.0.0.1]:1"} {
		_, err := outbound.NewGuard(nil).Dialer(time.Second).DialContext(t.Context(), "tcp", address)
		if !errors.Is(err, outbound.ErrPrivate) {
			t.Errorf("%s: %v; want ErrPrivate", address, err)
		}
	}
}
