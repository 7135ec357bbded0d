package web

// CookieName returns the name under which a browser keeps a cookie of ours: with
// https one that no other host of the domain can set.
func (s *Site) CookieName(name string) string {
	if s.Secure {
		return hostOnly + name
	}
	return name
}

const hostOnly = "__Host-"
