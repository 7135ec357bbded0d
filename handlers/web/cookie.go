package web

// CookieName returns the name of a cookie in the browser: with https one that no other host of
// the domain can set.
func (s *Site) CookieName(name string) string {
	if s.Secure {
		return hostOnlyPrefix + name
	}
	return name
}

const hostOnlyPrefix = "__Host-"
