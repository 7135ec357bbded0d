package notifications

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/outbound"
)

const connectTimeout = 5 * time.Second

// newClient returns a client for addresses of strangers: no redirects, no proxies, no cookies.
func newClient(allowed []netip.Prefix) *http.Client {
	dialer := outbound.NewGuard(allowed).Dialer(connectTimeout)
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
	case errors.Is(err, outbound.ErrPrivate):
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
