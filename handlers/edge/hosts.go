package edge

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// Host returns the host of an address like "fleet.example.com:8080" without the port, as
// names are compared: in lower case, without the dot of the root.
func Host(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// AllowedHosts lets requests through whose Host is an IP address, localhost or one
// of names. A page of another site can give its own name this server's address
// (DNS rebinding), and a browser then takes the server for a part of that site; it
// cannot make the browser send another name than its own. Requests without a Host
// come from no browser. Refused calls of the API are answered by refuse, the others
// in plain text.
func AllowedHosts(names []string, refuse func(http.ResponseWriter, *http.Request, error), next http.Handler) http.Handler {
	allowed := map[string]bool{"": true, "localhost": true}
	for _, name := range names {
		allowed[Host(name)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := Host(r.Host)
		if _, err := netip.ParseAddr(host); err == nil || allowed[host] {
			next.ServeHTTP(w, r)
			return
		}
		refusal := fault.New(fault.HostNotAllowed, "This server does not answer under the name of the request's Host header. "+
			"Use its address, or have its operator add the name to FLEETBOARD_ALLOWED_HOSTS.")
		if strings.HasPrefix(r.URL.Path, "/api/") {
			refuse(w, r, refusal)
			return
		}
		http.Error(w, refusal.Message, status.Of(refusal.Code))
	})
}
