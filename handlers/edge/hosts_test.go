package edge_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/handlers/edge"
)

// A page of another site that gives its name our address gets no answer; whoever
// uses an address or a name of ours gets one.
func TestAllowedHosts(t *testing.T) {
	t.Parallel()
	passed := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	call := func(w http.ResponseWriter, _ *http.Request, refusal error) {
		http.Error(w, "as a call: "+refusal.Error(), http.StatusMisdirectedRequest)
	}
	handler := edge.AllowedHosts([]string{"fleet.example.com:8443", "Board.internal", "", ":8080"}, call, passed)
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:8080": true, "192.0.2.7:80": true, "[::1]": true, "[::1]:8080": true, "[fe80::1%25eth0]:8080": true,
		"localhost": true, "LOCALHOST:8080": true, "localhost.": true, "": true,
		"fleet.example.com": true, "fleet.example.com:8080": true, "Fleet.Example.COM.": true, "board.internal:1": true,
		"evil.example": false, "evil.example:8080": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false,
		"fleet.example.com.evil.example": false, "xfleet.example.com": false, "example.com": false, "a.localhost": false,
		"[::1].evil.example": false, "2130706433": false, "0x7f.1": false, "127.1": false,
	} {
		for path, kind := range map[string]string{"/board": "This server", "/api/v1/jobs": "as a call: host_not_allowed", "/metrics": "This server"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if got := w.Code == http.StatusNoContent; got != want {
				t.Errorf("%s of %q: status %d", path, host, w.Code)
			}
			if !want && (w.Code != http.StatusMisdirectedRequest || !strings.HasPrefix(w.Body.String(), kind)) {
				t.Errorf("%s of %q: %d %s", path, host, w.Code, w.Body)
			}
		}
	}
}
