package handlers

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzSafeNext looks for a path that a browser would take for another site's
// address, or for more than an address.
func FuzzSafeNext(f *testing.F) {
	for _, seed := range []string{"", "/", "/board", "/jobs/FB-1?x=1#log", "//evil.example", "///evil.example", "/\\evil.example", "\\/evil.example",
		"/\t/evil.example", "/\n/evil.example", "/\r\nSet-Cookie: a=b", "/\x00/evil.example", "https://evil.example", "https:evil.example", "javascript:alert(1)",
		"/%2F/evil.example", "/%2f%2fevil.example", "/%5Cevil.example", "/.//evil.example", "/..//evil.example", "/a/..//evil.example", "/a//evil.example",
		"/login", "/login?next=//evil.example", "/login/", "/%6cogin", "//", "/@evil.example", "/:80", " /board", "/board ", "/\u2028/evil.example", "/\u3000//evil.example",
		"/\xff", "/%zz", "/?next=//evil.example", "/;//evil.example", "/board#//evil.example", "/\u202e//evil.example", "/" + strings.Repeat("a", 5000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, next string) {
		got := safeNext(next)
		// Browsers leave tabs and line ends out, wherever they are, and trim what
		// is invisible at the ends.
		seen := strings.Trim(strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(got), "\x00\x01\x02\x03\x1f ")
		if seen != strings.Trim(got, " ") || !strings.HasPrefix(seen, "/") || strings.HasPrefix(seen, "//") || strings.ContainsAny(seen, "\\\x00\x7f") {
			t.Fatalf("safeNext(%q) = %q", next, got)
		}
		base, _ := url.Parse("https://fleet.example.com/login")
		to, err := base.Parse(got)
		if err != nil || to.Host != base.Host || to.Scheme != base.Scheme || to.User != nil {
			t.Fatalf("safeNext(%q) = %q leads to %v (%v)", next, got, to, err)
		}
	})
}
