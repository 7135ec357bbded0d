package app

import (
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"strings"
)

// enrolmentTokenFile is the file that the first start writes in the data directory.
const enrolmentTokenFile = "enrolment-token"

func (c Config) checkPublicURL() error {
	if c.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("FLEETBOARD_PUBLIC_URL: must be an address like https://fleet.example.com, without a path")
	}
	return nil
}

// Secure reports whether people reach the server by https.
func (c Config) Secure() bool {
	u, err := url.Parse(c.PublicURL)
	return err == nil && u.Scheme == "https"
}

// hosts returns the host names that the server answers to: those of its public address and of the
// addresses that it listens on, and the further ones that are allowed.
func (c Config) hosts() []string {
	names := []string{c.Listen, c.Network.MetricsListen}
	if u, err := url.Parse(c.PublicURL); err == nil {
		names = append(names, u.Host)
	}
	for _, name := range c.Network.AllowedHosts {
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

// EnrolmentTokenFile returns the path of the file with the first enrolment token.
func (c Config) EnrolmentTokenFile() string { return filepath.Join(c.DataDir, enrolmentTokenFile) }

// reachedAt returns where people reach the server as far as its configuration says it.
func (c Config) reachedAt() string {
	if c.PublicURL != "" {
		return c.PublicURL
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
