package repos

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// What keeps a submodule from being fetched.
var (
	errNoAddress = errors.New("no address that the worker fetches from is said for it")
	errNoBase    = errors.New("its address is relative, and the repository has no origin")
)

// place is where an address leads: a host with its port, or this host.
type place struct {
	scheme string // https, http, ssh or file
	host   string // with the port where one is said; "" is this host
	path   string
}

// parsePlace reads an address. Only the four schemes that git fetches by without a program that
// the address names are read.
func parsePlace(address string) (place, bool) {
	if address == "" || strings.HasPrefix(address, "-") || strings.Contains(address, "::") ||
		strings.ContainsFunc(address, unicode.IsControl) {
		return place{}, false
	}
	if filepath.IsAbs(address) {
		return place{"file", "", filepath.Clean(address)}, true
	}
	if isRemotePath(address) {
		host, at, _ := strings.Cut(address, ":")
		if _, name, ok := strings.Cut(host, "@"); ok {
			host = name
		}
		return place{"ssh", strings.ToLower(host), at}, goodHost.MatchString(host)
	}
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" {
		return place{}, false
	}
	switch u.Scheme {
	case "file":
		return place{"file", "", filepath.Clean(u.Path)}, u.Host == "" && filepath.IsAbs(u.Path)
	case "https", "http", "ssh":
		return place{u.Scheme, strings.ToLower(u.Host), u.Path}, goodHost.MatchString(u.Host)
	}
	return place{}, false
}

// goodHost is a host's name or number, maybe with a port.
var goodHost = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?$|^\[[0-9A-Fa-f:.]+\](:[0-9]+)?$`)

// parseProtocol is git's name for how an address is fetched from.
func parseProtocol(address string) string {
	p, _ := parsePlace(address)
	return p.scheme
}

// isBeside reports whether a place may be fetched from as a submodule of a repository that is
// at another: on the same host, not with less protection, and on this host only beside it.
func (p place) isBeside(origin place) bool {
	if p.scheme == "file" || origin.scheme == "file" {
		return p.scheme == origin.scheme && strings.HasPrefix(p.path, filepath.Dir(origin.path)+"/")
	}
	return p.host == origin.host && (p.scheme != "http" || origin.scheme == "http")
}

// resolveModule returns the address of a submodule, from that of the repository where it is relative.
func resolveModule(said, origin string) (string, error) {
	if !strings.HasPrefix(said, "./") && !strings.HasPrefix(said, "../") {
		return said, nil
	}
	p, ok := parsePlace(origin)
	if !ok {
		return "", errNoBase
	}
	base, at := strings.CutSuffix(strings.TrimSuffix(origin, "/"), strings.TrimSuffix(p.path, "/"))
	if !at {
		return "", errNoBase
	}
	to := path.Join("/", p.path, said)
	if p.scheme == "ssh" && !strings.Contains(origin, "://") && !strings.HasPrefix(p.path, "/") {
		to = strings.TrimPrefix(to, "/")
	}
	if to == "" || to == "/" {
		return "", errNoAddress
	}
	return base + to, nil
}

// moduleAddress returns the address to fetch a submodule from. A submodule's address is text of the
// repository, which agents write: it may be one on the origin's host, or on a host that the
// worker is set to allow; foreign says that it is one of these. What the person's git makes
// of the address counts, not what it looks like.
func (m *mirror) moduleAddress(ctx context.Context, said string, allowed []string) (address string, foreign bool, err error) {
	if address, err = resolveModule(said, m.origin); err != nil {
		return "", false, err
	}
	if _, ok := parsePlace(address); !ok {
		return "", false, errNoAddress
	}
	led := func(address string) (place, bool) {
		final, err := m.network().run(ctx, "ls-remote", "--get-url", "--end-of-options", address)
		if err != nil {
			return place{}, false
		}
		return parsePlace(final)
	}
	to, ok := led(address)
	origin, known := led(m.origin)
	switch {
	case !ok:
		return "", false, errNoAddress
	case known && to.isBeside(origin):
		return address, false, nil
	case to.scheme == "https" || to.scheme == "ssh":
		if slices.Contains(allowed, to.host) {
			return address, true, nil
		}
		return "", false, fmt.Errorf("%s is not the origin's host, and the worker was not told to fetch from it (--submodules %s)",
			to.host, to.host)
	}
	return "", false, errors.New("it is not beside the origin")
}

// unscoped are settings that go to every host, with what proves who is calling.
var unscoped = regexp.MustCompile(`^http\.(extraheader|cookiefile|savecookies|sslcert|sslkey|` +
	`sslcertpasswordprotected|emptyauth|delegation)$`)

// forOthers are settings without what is for the origin's host alone.
func forOthers(settings []setting) (list []setting) {
	for _, s := range settings {
		if !unscoped.MatchString(s.key) {
			list = append(list, s)
		}
	}
	return list
}
