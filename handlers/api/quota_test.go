package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/handlers/edge"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// lookups counts how often a token is looked up.
type lookups struct {
	api.Bearers
	n atomic.Int64
}

func (l *lookups) Bearer(ctx context.Context, token string) (tenancy.Principal, error) {
	l.n.Add(1)
	return l.Bearers.Bearer(ctx, token)
}

// limited returns a second handler of the server with a quota, behind a proxy that names the
// client.
func (w *apiServer) limited(perSecond int) (http.Handler, *lookups) {
	looked := &lookups{Bearers: w.accounts.Tokens}
	deps := w.services.API()
	deps.Tokens, deps.Quota = looked, quota.New(perSecond, nil)
	deps.ClientAddress = func(r *http.Request) string { return r.Header.Get("X-Test-Client") }
	return api.New(deps), looked
}

func call(t *testing.T, server http.Handler, client, token, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, api.BasePath+path, strings.NewReader(body))
	r.Header.Set("X-Test-Client", client)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w
}

// Whoever hammers the API, with a person's token, with an agent's own or with
// none, no heartbeat is refused or waits long.
func TestNobodyStarvesAHeartbeat(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	agent := w.agent("ada")
	server, _ := w.limited(4) // 20 at once
	const beat = `{"boot_id":"ada-boot","status":"idle"}`
	stop := make(chan struct{})
	var refused atomic.Int64
	var hammers sync.WaitGroup
	for _, token := range []string{w.owner, agent, "", "fb_person_nothing"} {
		for range 4 {
			hammers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if call(t, server, "203.0.113.9", token, "GET", "/jobs", "").Code == http.StatusTooManyRequests {
						refused.Add(1)
					}
				}
			})
		}
	}
	for refused.Load() < 1000 {
		if t.Context().Err() != nil {
			break
		}
		call(t, server, "203.0.113.9", w.owner, "GET", "/jobs", "")
	}
	for range 15 {
		if res := call(t, server, "203.0.113.9", agent, "POST", "/agents/ada/heartbeat", beat); res.Code != http.StatusOK {
			t.Errorf("a heartbeat was answered %d: %s", res.Code, res.Body)
		}
	}
	close(stop)
	hammers.Wait()
	if n := refused.Load(); n < 1000 {
		t.Errorf("only %d calls were refused", n)
	}
}

// limitedAfter calls until it is refused, and says after how many.
func limitedAfter(t *testing.T, ask func() *httptest.ResponseRecorder) int {
	t.Helper()
	for n := range 200 {
		res := ask()
		if res.Code != http.StatusTooManyRequests {
			continue
		}
		wait, err := strconv.Atoi(res.Header().Get("Retry-After"))
		if err != nil || wait < 1 || res.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(res.Body.String(), `"code":"rate_limited"`) {
			t.Errorf("refused with Retry-After %q: %s", res.Header().Get("Retry-After"), res.Body)
		}
		return n
	}
	t.Fatal("there is no limit")
	return 0
}

func TestCallsHaveAQuota(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	agent := w.agent("ada")
	near := func(name string, got, want int) {
		t.Helper()
		if got < want || got > want+20 { // it fills while the test runs
			t.Errorf("%s: refused after %d, want %d", name, got, want)
		}
	}
	server, _ := w.limited(4)
	get := func(client, token string) func() *httptest.ResponseRecorder {
		return func() *httptest.ResponseRecorder { return call(t, server, client, token, "GET", "/products", "") }
	}
	near("a person's token", limitedAfter(t, get("203.0.113.1", w.owner)), 20)
	near("an agent", limitedAfter(t, get("203.0.113.1", agent)), 20)
	near("an enrolment token", limitedAfter(t, get("203.0.113.1", w.enrolment)), 40)
	near("nobody", limitedAfter(t, get("203.0.113.2", "")), 6)
	near("nobody, in the same network", limitedAfter(t, get("2001:db8::1", "")), 6)
	near("nobody, in the same network", limitedAfter(t, get("2001:db8::2", "")), 0)
	near("a heartbeat", limitedAfter(t, func() *httptest.ResponseRecorder {
		return call(t, server, "203.0.113.1", agent, "POST", "/agents/ada/heartbeat", `{"boot_id":"ada-boot","status":"idle"}`)
	}), 20)
}

// Whoever guesses is held up by the address. Whoever shares it with a good token,
// of an agent or of a person, goes on.
func TestGuessesAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	agent := w.agent("ada")
	server, looked := w.limited(4)
	const here = "203.0.113.7"
	guess := func() *httptest.ResponseRecorder { return call(t, server, here, "fb_person_"+"x", "GET", "/jobs", "") }
	limitedAfter(t, guess)
	for name, token := range map[string]string{"an agent": agent, "a person": w.owner} {
		if res := guess(); res.Code != http.StatusTooManyRequests {
			t.Errorf("the address is not held up: %d", res.Code)
		}
		if res := call(t, server, here, token, "GET", "/jobs", ""); res.Code != http.StatusOK {
			t.Errorf("%s at the same address: %d", name, res.Code)
		}
	}
	// Over its own limit a good token is held, and not looked up.
	limitedAfter(t, func() *httptest.ResponseRecorder { return call(t, server, here, w.owner, "GET", "/jobs", "") })
	before := looked.n.Load()
	for range 100 {
		call(t, server, here, w.owner, "GET", "/jobs", "")
	}
	if n := looked.n.Load() - before; n > 10 {
		t.Errorf("%d tokens were looked up that are held", n)
	}
}

// What stands on every answer of the API, of calls that do not exist too.
func TestEveryAnswerHasItsHeaders(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	m.handler = edge.Headers(true, m.serve())
	for _, c := range append(m.calls(), matrixCall{method: "GET", path: "/nothing"}, matrixCall{method: "DELETE", path: "/jobs"}) {
		for _, a := range m.askers {
			if a.foreign {
				continue
			}
			res := m.send(c, a)
			for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
				"Strict-Transport-Security": "max-age=31536000; includeSubDomains", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin"} {
				if got := res.Header().Get(name); got != want {
					t.Errorf("%s as %s: %s = %q", c.name(), a.name, name, got)
				}
			}
			if got := res.Header().Get("Cache-Control"); got != "no-store" && got != "no-store, no-transform" || res.Header().Get("X-Request-Id") == "" {
				t.Errorf("%s as %s: Cache-Control %q, id %q", c.name(), a.name, got, res.Header().Get("X-Request-Id"))
			}
			if res.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s as %s: it sets a cookie", c.name(), a.name)
			}
		}
	}
}
