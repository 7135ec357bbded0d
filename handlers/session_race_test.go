package handlers_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// caller is a browser that reaches the server over the network.
type caller struct {
	*http.Client
	address string
}

func newCaller(t *testing.T, address string) caller {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return caller{address: address, Client: &http.Client{
		Jar:           jar,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// send posts a form, or gets where there is none.
func (v caller) send(t *testing.T, target string, fields url.Values, cookies ...*http.Cookie) *http.Response {
	t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if fields != nil {
		method, body = http.MethodPost, strings.NewReader(fields.Encode())
	}
	r, err := http.NewRequestWithContext(t.Context(), method, v.address+target, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Content-Type", echo.MIMEApplicationForm)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	res, err := v.Do(r)
	if err != nil {
		t.Error(err)
		return &http.Response{}
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res
}

func (v caller) logIn(t *testing.T) *http.Cookie {
	t.Helper()
	res := v.send(t, "/login", url.Values{"email": {handlertest.OwnerEmail}, "password": {handlertest.OwnerPassword}})
	for _, c := range res.Cookies() {
		if c.Name == "sid" {
			return &http.Cookie{Name: c.Name, Value: c.Value}
		}
	}
	t.Fatalf("no session: %d", res.StatusCode)
	return nil
}

// At least a thousand requests run with one cookie, some of which write the session, when
// it ends in one of three ways. From the answer that ended it on, no request with
// that cookie is taken for a person's, and what the late writers got opens nothing
// either.
func TestAnEndedSessionNeverComesBack(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	s.Mount([]web.Route{web.Post("/probe/keep", tenancy.SignedIn, func(c echo.Context, _ tenancy.Principal) error {
		if err := s.KeepInSession(c, "probe", "kept"); err != nil {
			return err
		}
		return c.NoContent(http.StatusOK)
	})})
	server := httptest.NewServer(s.Server)
	defer server.Close()
	for _, way := range []struct {
		name, target string
		fields       url.Values
		own          bool // sent from the session that is to end
	}{
		{"log out", "/logout", url.Values{}, true},
		{"log out everywhere", "/settings/account/sessions/end-all", url.Values{}, false},
		{"another password", "/settings/account/password", url.Values{"current": {handlertest.OwnerPassword}, "password": {handlertest.OtherPassword}}, false},
	} {
		t.Run(way.name, func(t *testing.T) {
			cookie := newCaller(t, server.URL).logIn(t)
			ender := newCaller(t, server.URL)
			ending := cookie
			if !way.own {
				ending = ender.logIn(t)
			}
			race := &sessionRace{caller: caller{Client: &http.Client{Transport: ender.Transport, CheckRedirect: ender.CheckRedirect}, address: server.URL}, cookie: cookie}
			race.run(t, 1000, func() {
				if res := ender.send(t, way.target, way.fields, ending); res.StatusCode != http.StatusSeeOther {
					t.Errorf("the end itself is answered %d", res.StatusCode)
				}
			})
			race.look(t)
		})
	}
}

// sessionRace sends requests with one cookie while its session ends.
type sessionRace struct {
	caller caller
	cookie *http.Cookie

	over          atomic.Bool // the end was answered
	before, after atomic.Int64
	mu            sync.Mutex
	late          []*http.Cookie // what answers set in the cookie's place
}

func (r *sessionRace) run(t *testing.T, requests int64, end func()) {
	t.Helper()
	var sent atomic.Int64
	var wg sync.WaitGroup
	half := make(chan struct{})
	for range 32 {
		wg.Go(func() {
			for {
				// More than that where the end takes its time.
				n := sent.Add(1)
				if n > requests && (r.after.Load() > requests/10 || n > 10*requests) {
					return
				}
				if n == requests/2 {
					close(half)
				}
				r.one(t, n%4 == 0)
			}
		})
	}
	<-half
	end()
	r.over.Store(true)
	wg.Wait()
}

func (r *sessionRace) one(t *testing.T, write bool) {
	over := r.over.Load()
	target, fields := "/probe/who", url.Values(nil)
	if write {
		target, fields = "/probe/keep", url.Values{}
	}
	res := r.caller.send(t, target, fields, r.cookie)
	switch {
	case res.StatusCode == http.StatusOK && over:
		t.Errorf("%s was answered as logged in after the end", target)
	case res.StatusCode == http.StatusOK:
		r.before.Add(1)
	case res.StatusCode == http.StatusSeeOther:
		r.after.Add(1)
	default:
		t.Errorf("%s answers %d", target, res.StatusCode)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range res.Cookies() {
		if c.Name == "sid" && c.Value != "" {
			r.late = append(r.late, &http.Cookie{Name: c.Name, Value: c.Value})
		}
	}
}

// look reads once more when everything is still.
func (r *sessionRace) look(t *testing.T) {
	t.Helper()
	if r.before.Load() == 0 || r.after.Load() == 0 {
		t.Errorf("%d requests before the end and %d after it: this was no race", r.before.Load(), r.after.Load())
	}
	tried := map[string]bool{}
	for _, c := range append(r.late, r.cookie) {
		if tried[c.Value] {
			continue
		}
		tried[c.Value] = true
		if res := r.caller.send(t, "/probe/who", nil, c); res.StatusCode == http.StatusOK {
			t.Error("a cookie of the ended session opens the server")
		}
	}
	t.Logf("%d requests before the end, %d after it", r.before.Load(), r.after.Load())
}
