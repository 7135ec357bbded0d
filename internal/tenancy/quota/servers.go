package quota

// Servers returns how many servers answer the callers of this one. A proxy spreads requests over
// all, so each of them grants its part of what a caller may have. nil stands for one server.
type Servers func() int

// Count returns how many there are, one at least.
func (s Servers) Count() int {
	if s == nil {
		return 1
	}
	return max(s(), 1)
}

// Among returns the part of each of so many servers, rounded up.
func (s Shares) Among(servers int) Shares {
	return Shares{Asker: part(s.Asker, servers), Enrolment: part(s.Enrolment, servers), Workspace: part(s.Workspace, servers)}
}

// part divides what callers may have by a number of servers, and rounds up.
func part[N int | int64](whole N, servers int) N { return (whole + N(servers) - 1) / N(servers) }
