package links

import "net/url"

// AuditFilter is what the audit shows. The zero value shows all.
type AuditFilter struct {
	Group string // of types: "members", "tokens"; "" is all
	Actor string // name
}

func (f AuditFilter) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"group": f.Group, "actor": f.Actor} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// AuditWith returns the audit with a filter.
func AuditWith(f AuditFilter) string { return with(Audit, f.values()) }

// AuditBefore returns the part of the audit before a place in it.
func AuditBefore(before string, f AuditFilter) string {
	v := f.values()
	v.Set("before", before)
	return with(Audit, v)
}
