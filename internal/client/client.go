package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/fleetboard/fleetboard/api"
)

const (
	// Version is that of the fleet command. It goes with each call, so that a server can
	// refuse a client that is too old for it.
	Version = "1.0.0"
	// basePath is where a server has the API.
	basePath = "/api/v1"
	// slowestAnswer is longer than a claim may wait for a job, which is 50 seconds.
	slowestAnswer = 70 * time.Second
	shortestPause = 200 * time.Millisecond
)

// Client is a connection to a server with a token. Its calls are the generated ones: their
// error is a *Problem where the server refused, and otherwise the answer of success is set.
type Client struct {
	*api.ClientWithResponses
	server string
	token  atomic.Pointer[string]
}

// Options say how to ask.
type Options struct {
	// Retries is how often a call is sent again that does not arrive, or that gets 429 or
	// one of 500 and above. What would do harm twice is sent once.
	Retries int
	// LongestPause is between two tries; they begin with 200 ms.
	LongestPause time.Duration
	// Log hears of retries; nil says nothing.
	Log *slog.Logger
}

// New returns a client for a server, such as "http://127.0.0.1:8080", with a token. The
// error says what is wrong with the address.
func New(server, token string, o Options) (*Client, error) {
	at, err := url.Parse(server)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("the server's address must be like https://fleetboard.example.com, and is %q", server)
	}
	c := &Client{server: strings.TrimSuffix(server, "/")}
	c.SetToken(token)
	c.ClientWithResponses, err = api.NewClientWithResponses(c.server+basePath,
		api.WithHTTPClient(newDoer(o)), api.WithRequestEditorFn(c.sign))
	return c, err
}

// Server is the address that New was given.
func (c *Client) Server() string { return c.server }

// SetToken is the token of calls from now on; agents are given new ones by heartbeats.
func (c *Client) SetToken(token string) { c.token.Store(&token) }

// idempotencyKey names a request, so that it can be sent again where no answer came.
const idempotencyKey = "Idempotency-Key"

// sign says who asks, with which program, and what the request is called.
func (c *Client) sign(_ context.Context, r *http.Request) error {
	r.Header.Set("Fleetboard-Client", "fleet/"+Version)
	if token := *c.token.Load(); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if r.Method == http.MethodPost && r.Header.Get(idempotencyKey) == "" {
		r.Header.Set(idempotencyKey, rand.Text())
	}
	return nil
}

// doer sends requests, some of them again, and makes a Problem of each refusal.
type doer struct {
	once  *http.Client
	again *http.Client
	// carries blobs, which take their time and are not held in memory to be sent again.
	carries *http.Client
}

func newDoer(o Options) *doer {
	once := &http.Client{Timeout: slowestAnswer, Transport: http.DefaultTransport.(*http.Transport).Clone()}
	retrying := retryablehttp.NewClient()
	retrying.HTTPClient = once
	retrying.Logger = nil
	if o.Log != nil {
		retrying.Logger = o.Log
	}
	retrying.RetryMax = o.Retries
	retrying.RetryWaitMin = shortestPause
	retrying.RetryWaitMax = max(o.LongestPause, shortestPause)
	retrying.ErrorHandler = giveUp
	return &doer{once: once, again: retrying.StandardClient(), carries: &http.Client{Transport: once.Transport}}
}

// giveUp passes the last answer on, and none to a caller who does not wait any more.
func giveUp(answer *http.Response, err error, _ int) (*http.Response, error) {
	if err == nil {
		return answer, nil
	}
	if answer != nil {
		_ = answer.Body.Close() // nobody reads it
	}
	return nil, err
}

// errPage is what a proxy or a portal on the way answers for the server.
var errPage = errors.New("a web page answered instead of the API")

// Do sends a request. The error is a *Problem where the server refused it, and an
// *Unreachable where no answer came, or a page of somebody else on the way.
func (d *doer) Do(r *http.Request) (*http.Response, error) {
	send := d.once
	switch {
	case strings.HasPrefix(r.URL.Path, basePath+"/blobs"):
		if r.Method == http.MethodPut {
			r.Header.Set("Expect", "100-continue") // so that a refusal comes before the body is sent
		}
		send = d.carries
	case repeatable(r):
		send = d.again
	}
	answer, err := send.Do(r)
	if err != nil {
		if r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
		return nil, &Unreachable{Server: r.URL.Scheme + "://" + r.URL.Host, cause: err}
	}
	if answer.StatusCode < http.StatusBadRequest {
		if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
			_ = answer.Body.Close() // nobody reads it
			return nil, &Unreachable{Server: r.URL.Scheme + "://" + r.URL.Host, cause: errPage}
		}
		return answer, nil
	}
	err = readProblem(answer)
	_ = answer.Body.Close() // it was read
	return nil, err
}

// repeatable reports whether a request does no harm when it arrives twice: all but edits.
func repeatable(r *http.Request) bool { return r.Method != http.MethodPatch }
