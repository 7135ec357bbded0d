package forge

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// slowest is how long a call may take, and maxAnswer how much of an answer is read, in
	// bytes.
	slowest   = 30 * time.Second
	maxAnswer = 4 << 20
	// maxHops bounds the redirects of a call, as of a repository that was renamed.
	maxHops = 3
	// maxSaid is how much of what a forge says is reported, in characters.
	maxSaid = 300
	// pageSize and maxPages bound lists.
	pageSize = 50
	maxPages = 20
)

// newClient returns an HTTP client for one forge.
func newClient() *http.Client {
	return &http.Client{Timeout: slowest, Transport: bounded{http.DefaultTransport}, CheckRedirect: stayAtHost}
}

// errElsewhere is a redirect to another host.
var errElsewhere = errors.New("it leads elsewhere")

// stayAtHost keeps the token from other hosts.
func stayAtHost(r *http.Request, via []*http.Request) error {
	if len(via) > maxHops || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
		return errElsewhere
	}
	return nil
}

// bounded cuts answers that are too long.
type bounded struct{ http.RoundTripper }

// RoundTrip sends a request.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}

// refused returns what an answer refuses, in the forge's own words.
func (p place) refused(answer *http.Response, said string) *Refusal {
	if said = p.clean(said); said == "" {
		said = http.StatusText(answer.StatusCode)
	}
	r := &Refusal{Forge: p.at.Host, Status: answer.StatusCode, Said: said, After: retryAfter(answer.Header.Get("Retry-After"))}
	r.Again = r.After > 0 || r.Status == http.StatusTooManyRequests || r.Status == http.StatusRequestTimeout ||
		r.Status >= http.StatusInternalServerError
	return r
}

// unheard returns a call without an answer that could be read.
func (p place) unheard(err error) *Refusal {
	var broken *url.Error
	again := errors.As(err, &broken) && !errors.Is(err, errElsewhere) || errors.Is(err, io.ErrUnexpectedEOF)
	return &Refusal{Forge: p.at.Host, Said: p.clean(err.Error()), Again: again}
}

// clean returns a text in one line, without the token.
func (p place) clean(said string) string {
	if p.token != "" {
		said = strings.ReplaceAll(said, p.token, "…")
	}
	r := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(said, "?")), " "))
	return string(r[:min(len(r), maxSaid)])
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(text string) time.Duration {
	if seconds, err := time.ParseDuration(text + "s"); err == nil {
		return max(0, seconds)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
