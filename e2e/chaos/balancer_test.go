//go:build upgrade

package chaos

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/callertest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// balancer hands each request on to one of those servers that are ready, as HAProxy does with
// redispatch: the next one where a server takes no connection. It counts what callers saw go wrong.
type balancer struct {
	*httptest.Server
	ready atomic.Pointer[[]string] // addresses
	next  atomic.Int64

	mu       sync.Mutex
	answered int
	failed   []string // answers from 500 on
	cut      []string // connections that broke before an answer, and requests that no server took
}

func newBalancer(ctx context.Context, t *testing.T, webs []*web) *balancer {
	t.Helper()
	b := &balancer{}
	b.check(ctx, webs)
	go callertest.Every(ctx, 500*time.Millisecond, func() { b.check(ctx, webs) })
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, MaxIdleConnsPerHost: 32}
	b.Server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: r.In.Host})
			r.Out.Host = r.In.Host
		},
		Transport:      redispatch{b, transport},
		FlushInterval:  -1,
		ModifyResponse: b.see,
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil { // else the caller went
				b.note(&b.cut, "%s %s: %v", r.Method, r.URL.Path, err)
			}
			panic(http.ErrAbortHandler) // the caller's connection is cut as well
		},
	})
	t.Cleanup(func() { transport.CloseIdleConnections(); b.CloseClientConnections(); b.Close() })
	return b
}

// check asks all servers whether they are ready.
func (b *balancer) check(ctx context.Context, webs []*web) {
	ready := []string{}
	for _, w := range webs {
		if processtest.IsReady(ctx, w.address) {
			ready = append(ready, w.address)
		}
	}
	b.ready.Store(&ready)
}

// redispatch sends a request to the first server that takes a connection.
type redispatch struct {
	b    *balancer
	http http.RoundTripper
}

func (d redispatch) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	var body []byte
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	ready := *d.b.ready.Load()
	first := int(d.b.next.Add(1))
	for n := range ready {
		try := r.Clone(r.Context())
		try.URL.Host = ready[(first+n)%len(ready)]
		try.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		try.Body, _ = try.GetBody()
		if answer, err = d.http.RoundTrip(try); !errors.Is(err, syscall.ECONNREFUSED) {
			return answer, err
		}
	}
	return nil, cmp.Or(err, errors.New("no server is ready"))
}

func (b *balancer) see(answer *http.Response) error {
	if answer.StatusCode < http.StatusInternalServerError {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.answered++
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 500))
	b.note(&b.failed, "%s: %s %s: %d %s", answer.Request.URL.Host, answer.Request.Method, answer.Request.URL.Path, answer.StatusCode, text)
	return nil
}

func (b *balancer) note(list *[]string, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*list = append(*list, fmt.Sprintf(format, args...))
}

// api is the address of the JSON API.
func (b *balancer) api() string { return b.URL + "/api/v1" }

// watch opens pages as the owner, one after another, until ctx ends, and holds a live stream open
// beside them. What is wrong with an answer the balancer notes.
func (b *balancer) watch(ctx context.Context, client *http.Client) error {
	read := func(path string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.URL+path, nil)
		if err != nil {
			return err
		}
		r.Header.Set("Accept", "text/html")
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		_, err = io.Copy(io.Discard, answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK && answer.StatusCode < http.StatusInternalServerError {
			return fmt.Errorf("%s was answered %d", path, answer.StatusCode)
		}
		return err
	}
	go func() {
		for ctx.Err() == nil {
			_ = read("/live?on=board") // a stream ends with its server, and begins again at another
		}
	}()
	for n := 0; ctx.Err() == nil; n++ {
		path := []string{"/board", "/status", "/usage", "/agents", "/needs-you"}[n%5]
		if err := read(path); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
