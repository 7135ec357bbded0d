package handlers_test

import (
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// A person may send 300 requests at once, and an address that nobody is known
// at as many: the limits of a server with the default.
func TestPagesHaveAQuota(t *testing.T) {
	client := "203.0.113.9"
	s := handlertest.OwnedSite(t, func(d *handlers.Deps) {
		d.Quota, d.ClientAddress = quota.New(4, nil), func(*http.Request) string { return client }
	})
	s.Probe()
	s.LogIn(t) // one request of the address, and six at once are allowed
	until := func(allowed int, ask func() handlertest.Answer) handlertest.Answer {
		t.Helper()
		for n := range 50 {
			res := ask()
			if res.StatusCode == http.StatusTooManyRequests {
				if n < allowed || n > allowed+2 { // a slow machine gives one more a second
					t.Errorf("refused after %d, want %d", n, allowed)
				}
				if wait, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || wait < 1 {
					t.Errorf("Retry-After = %q", res.Header.Get("Retry-After"))
				}
				return res
			}
		}
		t.Fatal("no limit")
		return handlertest.Answer{}
	}
	who, login := func() handlertest.Answer { return s.Get("/probe/who") }, func() handlertest.Answer { return s.Get("/login") }
	res := until(6, who)
	if text := handlertest.Document(t, res).Find("main").Text(); text == "" {
		t.Error("the page says nothing")
	}

	s.Cookies = map[string]*http.Cookie{}
	until(5, login) // the address has its own, one of which the log in took
	until(0, who)
	until(0, func() handlertest.Answer {
		return s.Post("/login", url.Values{"email": {"a@b.example"}, "password": {"wrong"}})
	})
	for range 20 {
		handlertest.WantStatus(t, s.Get("/healthz"), http.StatusOK)
		handlertest.WantStatus(t, s.Get("/readyz"), http.StatusOK)
		handlertest.WantStatus(t, s.Get("/static/css/none.css"), http.StatusNotFound)
	}
	client = "203.0.113.10"
	handlertest.WantStatus(t, s.Get("/login"), http.StatusOK)
}

// What others send from an address keeps nobody there from logging out.
func TestJunkKeepsNobodyFromLoggingOut(t *testing.T) {
	s := handlertest.OwnedSite(t, func(d *handlers.Deps) { d.Quota = quota.New(4, nil) })
	s.LogIn(t)
	stranger := s.Browser()
	for range 50 {
		if stranger.Get("/login").StatusCode == http.StatusTooManyRequests {
			break
		}
	}
	stranger.Cookies["sid"] = &http.Cookie{Name: "sid", Value: "junk"}
	for range 10 {
		stranger.Post("/logout", nil)
	}
	handlertest.WantStatus(t, stranger.Post("/logout", nil), http.StatusTooManyRequests)
	handlertest.WantRedirect(t, s.Post("/logout", nil), "/login")
	if s.Cookies["sid"] != nil {
		t.Error("still logged in")
	}
}

// The throttle of the log in sees the client behind the proxy, and not what the
// client says of itself.
func TestLoginIsThrottledByTheClient(t *testing.T) {
	s := handlertest.OwnedSite(t, func(d *handlers.Deps) {
		d.ClientAddress = func(r *http.Request) string { return r.Header.Get("X-Test-Client") }
	})
	try := func(client string) int {
		r := handlertest.Request(http.MethodPost, "/login", url.Values{"email": {"nobody@example.org"}, "password": {"wrong"}})
		r.Header.Set("X-Test-Client", client)
		r.Header.Set("X-Forwarded-For", strconv.Itoa(len(s.LogText.String())%250)+".1.1.1")
		return s.Do(r).StatusCode
	}
	for n := range 40 {
		if try("203.0.113.9") == http.StatusTooManyRequests {
			if n < 5 {
				t.Errorf("throttled after %d", n)
			}
			return
		}
	}
	t.Error("a client that writes another address each time is never throttled")
}
