package outbound

import (
	"context"
	"net"
	"net/http"
	"time"
)

const (
	maxHeaders  = 32 << 10
	idleTimeout = 30 * time.Second
	idleConns   = 2
)

// Transport returns one that connects only where the guard lets it. It takes no proxy of the environment,
// which would connect for it, and reads 32 KB of headers at most. The timeout bounds the connection, and TLS.
func (g *Guard) Transport(timeout time.Duration) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return g.Dial(ctx, network, address, timeout)
		},
		TLSHandshakeTimeout:    timeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    idleConns,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaders,
	}
}

// Client returns a client that follows no redirect and keeps no cookies. The timeout bounds a request with
// its answer; 0 leaves that to the request's context.
func Client(transport http.RoundTripper, timeout time.Duration) *http.Client {
	return &http.Client{Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
