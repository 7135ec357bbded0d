// Package callertest calls servers that are killed and cut off meanwhile, until one of them answers.
package callertest

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// Limit is how long one server may take to answer an ordinary call.
const Limit = 5 * time.Second

// Network reaches any of the servers. Whoever uses it does not care which.
type Network struct {
	Servers []*api.ClientWithResponses
	// odd gets answers that no failure excuses: a 5xx that is not 503.
	odd func(status int, body []byte)
}

// New returns the way to servers by the addresses of their APIs. It speaks with the token of the
// moment. odd gets answers that no failure excuses: a 5xx that is not 503.
func New(urls []string, token func() string, odd func(int, []byte)) (*Network, error) {
	n := &Network{odd: odd}
	for _, url := range urls {
		dialer := net.Dialer{Timeout: time.Second}
		c, err := api.NewClientWithResponses(url, api.WithHTTPClient(&http.Client{
			Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 8},
		}), api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token())
			return nil
		}))
		if err != nil {
			return nil, err
		}
		n.Servers = append(n.Servers, c)
	}
	return n, nil
}

// Reply is what every answer of the client has.
type Reply interface {
	StatusCode() int
	GetBody() []byte
}

// Call is a call of one server.
type Call[R Reply] func(context.Context, *api.ClientWithResponses) (R, error)

// Once calls one server. The error means that nobody knows what happened.
func Once[R Reply](ctx context.Context, n *Network, limit time.Duration, do Call[R]) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := do(ctx, n.Servers[rand.IntN(len(n.Servers))])
	if err != nil {
		return answer, err
	}
	switch status := answer.StatusCode(); {
	case status == http.StatusServiceUnavailable:
		return answer, errUnavailable
	case status >= http.StatusInternalServerError:
		n.odd(status, answer.GetBody())
		return answer, errUnavailable
	}
	return answer, nil
}

var errUnavailable = errors.New("the server cannot answer now")

// Insist repeats a call, against one server after another, until one of them
// answers it. The only error is that ctx ended.
func Insist[R Reply](ctx context.Context, n *Network, limit time.Duration, do Call[R]) (R, error) {
	for {
		answer, err := Once(ctx, n, limit, do)
		if err == nil {
			return answer, nil
		}
		if err := Rest(ctx, 50*time.Millisecond+rand.N(250*time.Millisecond)); err != nil {
			return answer, err
		}
	}
}

// Rest waits, and returns the error of ctx where it ended first.
func Rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Every does something at intervals until ctx ends. A turn that takes long
// skips the next ones.
func Every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// Code returns the code of a refusal, "" for another answer.
func Code(r Reply) string {
	var problem struct {
		Code string `json:"code"`
	}
	if r.StatusCode() < http.StatusBadRequest || json.Unmarshal(r.GetBody(), &problem) != nil {
		return ""
	}
	return problem.Code
}
