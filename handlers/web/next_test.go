package web

import (
	"net/url"
	"strings"
	"testing"
)

// Only a path of ours that everybody reads alike is gone on to.
func TestSafeNext(t *testing.T) {
	for _, next := range []string{"/jobs/FB-1", "/board?q=a%20b", "/jobs/new?again=1#x", "/settings/", "/timeline?actor=a%2F%2Fb&before=1-2",
		"/board?next=//evil.example", "/board?q=..//", "/board#//evil.example", "/jobs/FB-1/...", "/jobs/caf\u00e9", "/jobs/100%25"} {
		if got := SafeNext(next); got != next {
			t.Errorf("safeNext(%q) = %q", next, got)
		}
	}
	for what, list := range map[string][]string{
		"no path":            {"", "board", "https://evil.example", "javascript:alert(1)", "https:evil.example", "?x", "#x", " /board"},
		"another host":       {"//", "//evil.example", "///evil.example", "////evil.example", "//evil.example/%2e%2e", "//user@evil.example"},
		"dots":               {"/.//evil.example", "/..//evil.example", "/a/..//evil.example", "/./", "/..", "/a/../b", "/%2e//evil.example", "/%2E%2e//evil.example", "/a/%2e%2e/b"},
		"empty parts":        {"/a//evil.example", "/a//", "/a//b/c", "/;//evil.example"},
		"backslashes":        {"/\\evil.example", "\\\\evil.example", "/a\\b", "/%5Cevil.example", "/%5c%5cevil.example", "/board?q=\\"},
		"encoded slashes":    {"/%2F/evil.example", "/%2f%2fevil.example", "/jobs/%2F%2Fevil", "/a%2Fb", "/.%2f/evil.example"},
		"control characters": {"/\t/evil.example", "/\n/evil.example", "\t//evil.example", "/\r\nSet-Cookie: a=b", "/\x00/evil.example", "/\x7f", "/\u0085/evil.example", "/%09/evil.example", "/a%0d%0aSet-Cookie:%20a=b", "/%00"},
		"no text":            {"/\xff", "/%zz"},
		"the log in":         {"/", "/login", "/login?next=/login", "/%6cogin"},
	} {
		for _, next := range list {
			if got := SafeNext(next); got != "/board" {
				t.Errorf("%s: safeNext(%q) = %q", what, next, got)
			}
		}
	}
}

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
		got := SafeNext(next)
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
