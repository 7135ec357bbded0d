package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
)

// A hundred people log in at once, known and unknown ones, while somebody works.
// Pages are a matter of milliseconds; the bounds are wide for slow machines. Every
// hash takes 64 MiB, so a hundred at once would take more than six GiB.
func TestHundredLogInsLeavePagesAnswering(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.LogIn(t)
	before, most := residentMB(), 0
	var wg sync.WaitGroup
	var mu sync.Mutex
	answers := map[int]int{}
	done := make(chan struct{})
	for i := range 100 {
		wg.Go(func() {
			r := handlertest.Request(http.MethodPost, "/login", url.Values{"email": {fmt.Sprintf("person%d@example.org", i)}, "password": {handlertest.OwnerPassword}})
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:40000", i+1)
			res := s.Browser().Do(r)
			if res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "" {
				t.Error("a log in was refused without saying when to come again")
			}
			mu.Lock()
			defer mu.Unlock()
			answers[res.StatusCode]++
		})
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	slowest, asked, began := time.Duration(0), 0, time.Now()
	for waiting := true; waiting; {
		for _, target := range []string{"/login", "/settings/account"} {
			start := time.Now()
			who := s
			if target == "/login" {
				who = s.Browser()
			}
			handlertest.WantStatus(t, who.Get(target), http.StatusOK)
			slowest, asked = max(slowest, time.Since(start)), asked+1
		}
		most = max(most, residentMB())
		select {
		case <-done:
			waiting = false
		default:
		}
	}
	if slowest > 15*time.Second {
		t.Errorf("a page took %s", slowest)
	}
	if answers[http.StatusUnauthorized] == 0 || answers[http.StatusUnauthorized]+answers[http.StatusServiceUnavailable] != 100 {
		t.Errorf("answers by status: %v", answers)
	}
	if most-before > 256 {
		t.Errorf("the process grew by %d MB", most-before)
	}
	t.Logf("%d pages in %s, the slowest took %s; log ins by status %v; %d MB more", asked, time.Since(began), slowest, answers, most-before)
}

// residentMB returns how much memory this process has from its system, in MB.
func residentMB() int {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int((s[0].Value.Uint64() - s[1].Value.Uint64()) >> 20)
}
