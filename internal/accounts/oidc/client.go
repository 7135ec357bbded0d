package oidc

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxProviderAnswer is the longest answer of a provider that is read, in bytes.
const maxProviderAnswer = 1 << 20

// providerClient talks to the provider and to nobody else: it takes no proxy out
// of the environment and follows no redirect.
func providerClient() *http.Client {
	return &http.Client{
		Timeout: providerTimeout,
		Transport: httpsOnly{&http.Transport{
			TLSHandshakeTimeout: providerTimeout, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: providerTimeout,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// httpsOnly is a transport that calls only addresses which may be trusted and reads
// answers of a bounded length.
type httpsOnly struct{ next http.RoundTripper }

// RoundTrip sends one request.
func (g httpsOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if !trusted(r.URL) {
		return nil, fmt.Errorf("the provider names an address that is not https: %s", r.URL.Host)
	}
	answer, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &bounded{ReadCloser: answer.Body, left: maxProviderAnswer}
	return answer, nil
}

// bounded is a body that fails after so many bytes.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the provider's answer is too long")
	}
	n, err := b.ReadCloser.Read(into[:min(len(into), b.left)])
	b.left -= n
	return n, err
}
