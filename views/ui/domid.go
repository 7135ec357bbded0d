package ui

import "strings"

// FactoryID returns the DOM id of a factory's panel: "factory-mac-1".
func FactoryID(name string) string { return "factory-" + DOMID(name) }

// AgentID returns the row of an agent on the page of agents.
func AgentID(factory, name string) string { return "agent-" + DOMID(factory) + "-" + DOMID(name) }

// DOMID makes a name fit for an id: letters, digits and hyphens; anything else
// becomes its number, so that two names never share an id.
func DOMID(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			b.WriteRune(r)
			continue
		}
		b.WriteString("_")
		b.WriteString(hex(r))
	}
	return b.String()
}

func hex(r rune) string {
	const digits = "0123456789abcdef"
	if r < 16 {
		return digits[r : r+1]
	}
	return hex(r>>4) + digits[r&15:r&15+1]
}
