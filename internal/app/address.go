package app

import (
	"errors"
	"net/url"
	"path/filepath"
)

// enrolmentTokenFile is the file that the first start writes in the data
// directory (api.md, Configuration).
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

// EnrolmentTokenFile is where the first enrolment token lies.
func (c Config) EnrolmentTokenFile() string { return filepath.Join(c.DataDir, enrolmentTokenFile) }
