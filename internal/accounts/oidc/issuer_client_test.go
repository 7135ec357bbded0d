package oidc

import (
	"errors"
	"net/http"
	"net/netip"
	"testing"

	"github.com/fleetboard/fleetboard/internal/outbound"
)

// Where the network of NAT64 is allowed, as a host without IPv4 needs it, it still leads to no private address.
func TestAnIssuerBehindNAT64IsLookedThrough(t *testing.T) {
	client := issuerClient([]netip.Prefix{netip.MustParsePrefix("64:ff9b::/96")})
	for _, address := range []string{"https://[64:ff9b::7f00:1]/", "https://[64:ff9b::a9fe:a9fe]/", "https://[::ffff:127.0.0.1]/", "https://127.0.0.1/"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(r)
		if err == nil {
			_ = res.Body.Close()
		}
		if !errors.Is(err, outbound.ErrPrivate) {
			t.Errorf("%s: %v, want ErrPrivate", address, err)
		}
	}
}
