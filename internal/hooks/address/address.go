// Package address checks the addresses of webhooks, of a workspace and of a person, when they are saved.
// Whoever connects to one does so by package outbound, which looks at it again.
package address

import (
	"context"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/outbound"
)

// MaxLength bounds an address, in characters.
const MaxLength = 2000

const notPublic = "It must lead to the public network: private, loopback and link-local addresses are refused. " +
	"The operator of the server may allow networks with FLEETBOARD_WEBHOOK_ALLOW."

// hostName is a name of the DNS, at least in form; its last part is no number, which some programs
// take for an address.
var hostName = regexp.MustCompile(`(?i)^([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*[a-z]([a-z0-9-]*[a-z0-9])?$`)

// CheckWebhook returns what is wrong with the address of a webhook, in a sentence; "" for a good one.
func CheckWebhook(ctx context.Context, guard *outbound.Guard, text string) string {
	u, wrong := parse(text, "https", "http")
	if wrong != "" {
		return wrong
	}
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err != nil && (!hostName.MatchString(host) || len(host) > 253) {
		return "Its host must be a name like hooks.example.com or an IP address in its usual form, in ASCII " +
			"(xn--… for other letters) and without a dot at the end."
	}
	if guard.CheckHost(ctx, host) != nil {
		return notPublic
	}
	return ""
}

// CheckForm returns what is wrong with the form of an address of one of the schemes, in a sentence; "" for
// a good one. Where it leads is not looked at.
func CheckForm(text string, schemes ...string) string {
	_, wrong := parse(text, schemes...)
	return wrong
}

func parse(text string, schemes ...string) (*url.URL, string) {
	const field = "url"
	p := fault.Problems{}
	p.Line(field, text, MaxLength)
	u, err := url.Parse(text)
	switch {
	case len(p) > 0:
	case err != nil || u.Opaque != "" || u.Host == "" || !slices.Contains(schemes, u.Scheme):
		p.Add(field, "It must be an address like https://hooks.example.com/fleetboard.")
	case u.User != nil:
		p.Add(field, "It must have no user name and no password: the signature says who sends.")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		p.Add(field, "It must have no fragment (#).")
	case strings.HasSuffix(u.Host, ":"):
		p.Add(field, "It must have a port after the colon.")
	case u.Port() != "":
		if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 || u.Port()[0] == '0' {
			p.Add(field, "Its port must be a number from 1 to 65535.")
		}
	}
	return u, p[field]
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
