package chaos

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

// callLimit is how long one server may take to answer an ordinary call.
const callLimit = 5 * time.Second

// network reaches any of the servers. Whoever uses it does not care which.
type network struct {
	servers []*api.ClientWithResponses
	// odd gets answers that no failure excuses: a 5xx that is not 503.
	odd func(status int, body []byte)
}

// newNetwork speaks with the token of the moment.
func newNetwork(urls []string, token func() string, odd func(int, []byte)) (*network, error) {
	n := &network{odd: odd}
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
		n.servers = append(n.servers, c)
	}
	return n, nil
}

// reply is what every answer of the client has.
type reply interface {
	StatusCode() int
	GetBody() []byte
}

type call[R reply] func(context.Context, *api.ClientWithResponses) (R, error)

// once calls one server. The error means that nobody knows what happened.
func once[R reply](ctx context.Context, n *network, limit time.Duration, do call[R]) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := do(ctx, n.servers[rand.IntN(len(n.servers))])
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

// insist repeats a call, against one server after another, until one of them
// answers it. The only error is that ctx ended.
func insist[R reply](ctx context.Context, n *network, limit time.Duration, do call[R]) (R, error) {
	for {
		answer, err := once(ctx, n, limit, do)
		if err == nil {
			return answer, nil
		}
		if err := rest(ctx, 50*time.Millisecond+rand.N(250*time.Millisecond)); err != nil {
			return answer, err
		}
	}
}

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// every does something at intervals until ctx ends. A turn that takes long
// skips the next ones.
func every(ctx context.Context, interval time.Duration, do func()) {
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

// codeOf returns the code of a refusal, "" for another answer.
func codeOf(r reply) string {
	var problem struct {
		Code string `json:"code"`
	}
	if r.StatusCode() < http.StatusBadRequest || json.Unmarshal(r.GetBody(), &problem) != nil {
		return ""
	}
	return problem.Code
}

func point[T any](v T) *T { return &v }
