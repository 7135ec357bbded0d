package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestNetworkConfig(t *testing.T) {
	c, err := LoadConfig(map[string]string{"HOME": "/h", "FLEETBOARD_TRUSTED_PROXIES": "10.0.0.0/8, 2001:db8::/32 ,192.0.2.7/32", "FLEETBOARD_RATE_LIMIT": "0"})
	if err != nil || len(c.Network.TrustedProxies) != 3 || c.Network.RateLimit != 0 {
		t.Errorf("%+v %v", c.Network, err)
	}
	if c, err := LoadConfig(map[string]string{"HOME": "/h"}); err != nil || len(c.Network.TrustedProxies) != 0 || c.Network.RateLimit != 200 {
		t.Errorf("by default: %+v %v", c.Network, err)
	}
	for variable, values := range map[string][]string{
		"FLEETBOARD_TRUSTED_PROXIES": {"10.0.0.5", "proxy.example", "10.0.0.0/33", "10.0.0.0/8;10.1.0.0/16", "10.0.0.0/8,x", "0.0.0.0/0", "::/0", "::ffff:10.0.0.0/104"},
		"FLEETBOARD_ALLOWED_HOSTS":   {"http://fleet.lan", "fleet.lan:8080", "*", "*.lan", "fleet.lan/", "-a", "a..b", "fleet.lan;board.lan"},
		"FLEETBOARD_RATE_LIMIT":      {"-1", "1000001", "many", "1.5"},
		"FLEETBOARD_DRAIN_SECONDS":   {"-1", "61", "ever", "1.5"},
	} {
		for _, value := range values {
			_, err := LoadConfig(map[string]string{"HOME": "/h", variable: value})
			if err == nil || !strings.HasPrefix(err.Error(), variable+": ") {
				t.Errorf("%s=%s: %v", variable, value, err)
			}
		}
	}
}

// Whoever writes what into the header: only proxies of ours are believed.
func TestClientAddress(t *testing.T) {
	const proxy, stranger = "10.0.0.5:4000", "203.0.113.9:4000"
	for name, c := range map[string]struct {
		trusted   []string
		from      string
		forwarded []string
		want      string
	}{
		"nobody trusted":                {nil, stranger, []string{"1.1.1.1"}, "203.0.113.9"},
		"nobody trusted, from loopback": {nil, "127.0.0.1:4000", []string{"1.1.1.1"}, "127.0.0.1"},
		"nobody trusted, a private net": {nil, proxy, []string{"1.1.1.1"}, "10.0.0.5"},
		"no header":                     {[]string{"10.0.0.0/8"}, proxy, nil, "10.0.0.5"},
		"one proxy":                     {[]string{"10.0.0.0/8"}, proxy, []string{"203.0.113.9"}, "203.0.113.9"},
		"a stranger's header":           {[]string{"10.0.0.0/8"}, stranger, []string{"1.1.1.1"}, "203.0.113.9"},
		"loopback is not trusted":       {[]string{"10.0.0.0/8"}, "127.0.0.1:4000", []string{"1.1.1.1"}, "127.0.0.1"},
		"another private net":           {[]string{"10.0.0.0/8"}, "192.168.1.9:4000", []string{"1.1.1.1"}, "192.168.1.9"},
		"link-local":                    {[]string{"10.0.0.0/8"}, "169.254.1.9:4000", []string{"1.1.1.1"}, "169.254.1.9"},
		"the client wrote some before":  {[]string{"10.0.0.0/8"}, proxy, []string{"1.1.1.1, 203.0.113.9"}, "203.0.113.9"},
		"a line of its own before":      {[]string{"10.0.0.0/8"}, proxy, []string{"1.1.1.1", "203.0.113.9"}, "203.0.113.9"},
		"the client names a proxy":      {[]string{"10.0.0.0/8"}, proxy, []string{"1.1.1.1, 10.0.0.9, 203.0.113.9"}, "203.0.113.9"},
		"two proxies":                   {[]string{"10.0.0.0/8"}, proxy, []string{"203.0.113.9, 10.9.9.9"}, "203.0.113.9"},
		"the client is in the network":  {[]string{"10.0.0.0/8"}, proxy, []string{"10.1.2.3"}, "10.1.2.3"},
		"not an address":                {[]string{"10.0.0.0/8"}, proxy, []string{"unknown"}, "10.0.0.5"},
		"not an address behind one":     {[]string{"10.0.0.0/8"}, proxy, []string{"<script>, 203.0.113.9"}, "203.0.113.9"},
		"with a port":                   {[]string{"10.0.0.0/8"}, proxy, []string{"203.0.113.9:80"}, "10.0.0.5"},
		"IPv6":                          {[]string{"2001:db8::/32"}, "[2001:db8::5]:4000", []string{"[2001:db9::1]"}, "2001:db9::1"},
		"a proxy seen as mapped":        {[]string{"10.0.0.0/8"}, "[::ffff:10.0.0.5]:4000", []string{"203.0.113.9"}, "203.0.113.9"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = c.from
			for _, line := range c.forwarded {
				r.Header.Add("X-Forwarded-For", line)
			}
			r.Header.Set("X-Real-IP", "9.9.9.9")
			r.Header.Set("Forwarded", "for=9.9.9.9")
			if got := (NetworkConfig{TrustedProxies: c.trusted}).ClientAddress()(r); got != c.want {
				t.Errorf("the client is %s, want %s", got, c.want)
			}
		})
	}
}
