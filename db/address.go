package db

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// connectTimeout is how long a connection may take to be made, over all hosts of its address.
const connectTimeout = 5 * time.Second

// CheckAddress reports what is wrong with the text of a database's address; it connects to
// nobody. The error goes on after the name of a setting and holds no password.
func CheckAddress(address string) error {
	l, ok := parseLocation(address)
	if !ok || l.scheme != "postgres" && l.scheme != "postgresql" {
		return errors.New("must be a URL like postgres://user:password@host:5432/database; several hosts have commas between them")
	}
	switch l.settings.Get(targetAttributes) {
	case "", "primary", "read-write":
		return nil
	case "any":
		if !l.several() {
			return nil
		}
	}
	return errors.New("its target_session_attrs must be primary or read-write: a standby takes no changes")
}

// targetAttributes is the setting that says which of several hosts is meant.
const targetAttributes = "target_session_attrs"

// location is an address of a database in its parts. net/url reads addresses of one host only.
type location struct {
	scheme, login, hosts, path string
	settings                   url.Values
}

func parseLocation(address string) (l location, ok bool) {
	l.scheme, address, ok = strings.Cut(address, "://")
	if end := strings.IndexAny(address, "/?"); end >= 0 {
		address, l.path = address[:end], address[end:]
	}
	at := strings.LastIndex(address, "@") + 1
	l.login, l.hosts = address[:at], address[at:]
	for host := range strings.SplitSeq(l.hosts, ",") {
		u, err := url.Parse(l.scheme + "://" + l.login + host + l.path)
		if err != nil {
			return l, false
		}
		l.settings = u.Query()
	}
	l.path, _, _ = strings.Cut(l.path, "?")
	return l, ok
}

// several reports whether there is more than one host.
func (l location) several() bool { return strings.Contains(l.hosts+l.settings.Get("host"), ",") }

// withoutPassword returns the address as PostgreSQL's programs take it, whose command line others
// of the machine may read. Of several hosts they take the one that leads.
func (l location) withoutPassword() string {
	user, _, named := strings.Cut(strings.TrimSuffix(l.login, "@"), ":")
	if user != "" || named {
		user += "@"
	}
	l.settings.Del("password")
	if l.several() && !l.settings.Has(targetAttributes) {
		l.settings.Set(targetAttributes, "read-write")
	}
	address := l.scheme + "://" + user + l.hosts + l.path
	if len(l.settings) > 0 {
		address += "?" + l.settings.Encode()
	}
	return address
}

// prepare sets what every connection of ours has, pooled or not. Of several hosts the one that
// leads is taken, and each gets its part of the time, so that a request reaches the last one
// though those before it are silent.
func prepare(cfg *pgx.ConnConfig) {
	hosts := countHosts(&cfg.Config)
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout / time.Duration(hosts)
	}
	if hosts > 1 && cfg.ValidateConnect == nil {
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = applicationName
	}
}

// countHosts returns how many hosts an address names; one may be tried with and without TLS.
func countHosts(cfg *pgconn.Config) int {
	type host struct {
		name string
		port uint16
	}
	seen := map[host]bool{{cfg.Host, cfg.Port}: true}
	for _, f := range cfg.Fallbacks {
		seen[host{f.Host, f.Port}] = true
	}
	return len(seen)
}
