package api

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
)

const (
	// basePath is where a server has the API.
	basePath = "/api/v1"
	// slowestAnswer is longer than a claim may wait for a job, which is 50 seconds.
	slowestAnswer = 70 * time.Second
	shortestPause = 200 * time.Millisecond
)

// Client is a connection to a server with a token. Its calls are the generated ones, such as
// CreateJobWithResponse. A call returns an *Error where the server refused it, an *Unreachable
// where no answer of the server came, and ctx's error where that ended; otherwise the field of the
// answer's status (JSON200 and so on) is set. A Client may be used by many goroutines.
type Client struct {
	*ClientWithResponses
	server  string
	program string // the program's name and version
	token   atomic.Pointer[string]
}

// Options say how a Client calls.
type Options struct {
	// Program is the caller's name and version, such as "my-agent/1.4.0"; "" says neither. A
	// server refuses what is older than it takes.
	Program string
	// Retries is how often a call is sent again that gets no answer, 429, or 500 and above; a
	// Retry-After is kept. POST calls carry an idempotency key, so that they happen once; PATCH
	// calls and blobs are sent once.
	Retries int
	// LongestPause is between two tries; they begin with 200 ms.
	LongestPause time.Duration
	// Log takes retries; nil logs none.
	Log *slog.Logger
	// Transport makes the requests; nil is a copy of net/http's.
	Transport http.RoundTripper
}

// New returns a client for a server, such as "http://127.0.0.1:8080". The error says what is
// wrong with the address; New itself calls nobody.
func New(server, token string, o Options) (*Client, error) {
	at, err := url.Parse(server)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("the server's address must be like https://fleetboard.example.com, and is %q", server)
	}
	c := &Client{server: strings.TrimSuffix(server, "/"), program: o.Program}
	c.SetToken(token)
	c.ClientWithResponses, err = NewClientWithResponses(c.server+basePath, WithHTTPClient(newDoer(o)), WithRequestEditorFn(c.sign))
	return c, err
}

// Server returns the address that the client calls.
func (c *Client) Server() string { return c.server }

// SetToken replaces the token of calls from now on; heartbeats bring agents new ones.
func (c *Client) SetToken(token string) { c.token.Store(&token) }

// idempotencyKey names a request, so that it can be sent again where no answer came.
const idempotencyKey = "Idempotency-Key"

// sign says who calls, with which program, and what the request is called.
func (c *Client) sign(_ context.Context, r *http.Request) error {
	if c.program != "" {
		r.Header.Set("Fleetboard-Client", c.program)
	}
	if token := *c.token.Load(); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if r.Method == http.MethodPost && r.Header.Get(idempotencyKey) == "" {
		r.Header.Set(idempotencyKey, rand.Text())
	}
	return nil
}

// doer sends requests, some of them again, and makes an Error of each refusal.
type doer struct {
	once  *http.Client
	again *http.Client
	// carries blobs, which take their time and are not held in memory to be sent again.
	carries *http.Client
}

func newDoer(o Options) *doer {
	if o.Transport == nil {
		o.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	once := &http.Client{Timeout: slowestAnswer, Transport: o.Transport}
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

// Do sends a request. The error is an *Error where the server refused it, and an
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
