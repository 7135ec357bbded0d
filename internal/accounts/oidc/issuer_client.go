package oidc

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/outbound"
)

const (
	// maxIssuerAnswer is the longest answer of an issuer that is read, in bytes.
	maxIssuerAnswer = 256 << 10
	// answerLife is how long an answer is believed without asking again: tokens that name
	// unknown keys make nobody ask an issuer more often.
	answerLife  = 10 * time.Second
	answersKept = 64
)

// issuerClient talks to issuers that owners of workspaces name: by https, at public addresses and
// in allowed networks, whatever a name says at the moment that it is dialled.
func issuerClient(allowed []netip.Prefix) *http.Client {
	transport := outbound.NewGuard(allowed, nil).Transport(providerTimeout)
	return outbound.Client(&remembering{answers: map[string]remembered{}, now: time.Now, next: httpsOnly{transport}}, providerTimeout)
}

// remembering is a transport that gives an answer again for some seconds.
type remembering struct {
	next http.RoundTripper
	now  func() time.Time

	mu      sync.Mutex
	answers map[string]remembered
}

type remembered struct {
	head *http.Response
	body []byte
	at   time.Time
}

// RoundTrip sends a request, unless its answer is known.
func (t *remembering) RoundTrip(r *http.Request) (*http.Response, error) {
	key := r.URL.String()
	t.mu.Lock()
	known, ok := t.answers[key]
	t.mu.Unlock()
	if r.Method == http.MethodGet && ok && t.now().Sub(known.at) < answerLife {
		return known.answer(r), nil
	}
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxIssuerAnswer+1))
	if err == nil && len(body) > maxIssuerAnswer {
		err = errors.New("the issuer's answer is too long")
	}
	if err != nil {
		return nil, err
	}
	known = remembered{answer, body, t.now()}
	if r.Method == http.MethodGet {
		t.keep(key, known)
	}
	return known.answer(r), nil
}

// keep remembers an answer; where there are too many, the oldest goes.
func (t *remembering) keep(key string, answer remembered) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers[key] = answer
	if len(t.answers) <= answersKept {
		return
	}
	oldest := key
	for other, a := range t.answers {
		if a.at.Before(t.answers[oldest].at) {
			oldest = other
		}
	}
	delete(t.answers, oldest)
}

// answer returns the answer with a body that is not read yet.
func (k remembered) answer(r *http.Request) *http.Response {
	again := *k.head
	again.Request, again.Body, again.ContentLength = r, io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
	return &again
}
