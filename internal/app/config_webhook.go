package app

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// WebhookConfig is about what the server sends to others.
type WebhookConfig struct {
	// Allow are networks, as CIDR, that webhooks may lead to beside the public one.
	Allow []string `env:"FLEETBOARD_WEBHOOK_ALLOW"`
}

func (c WebhookConfig) check() error {
	_, err := c.networks()
	return err
}

// networks returns the networks that webhooks may lead to.
func (c WebhookConfig) networks() ([]netip.Prefix, error) {
	var networks []netip.Prefix
	var errs []error
	for _, text := range c.Allow {
		text = strings.TrimSpace(text)
		network, err := netip.ParsePrefix(text)
		switch {
		case text == "":
		case err != nil:
			errs = append(errs, fmt.Errorf(
				"FLEETBOARD_WEBHOOK_ALLOW: %q is no network like 10.1.0.0/16, and no single host like 10.1.0.5/32; "+
					"put commas between several", text))
		case network.Bits() == 0:
			errs = append(errs, fmt.Errorf("FLEETBOARD_WEBHOOK_ALLOW: %s is every host; name the networks of your receivers", text))
		case network.Addr().Is4In6():
			errs = append(errs, fmt.Errorf("FLEETBOARD_WEBHOOK_ALLOW: write %s as a network of IPv4", text))
		default:
			networks = append(networks, network.Masked())
		}
	}
	return networks, errors.Join(errs...)
}
