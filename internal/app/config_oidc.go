package app

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/views/links"
)

const (
	defaultName   = "single sign-on" // as the tag of Name has it
	maxNameLength = 40
)

// OIDCConfig describes the identity provider that people may log in with. Without an issuer
// there is none.
type OIDCConfig struct {
	// Issuer is the provider's address, https://id.example.com, exactly as its
	// description of itself names it.
	Issuer string `env:"FLEETBOARD_OIDC_ISSUER"`
	// ClientID and ClientSecret are what the provider gave this server.
	ClientID     string `env:"FLEETBOARD_OIDC_CLIENT_ID"`
	ClientSecret string `env:"FLEETBOARD_OIDC_CLIENT_SECRET"`
	// ClientSecretPath is a file with the same secret.
	ClientSecretPath string `env:"FLEETBOARD_OIDC_CLIENT_SECRET_FILE"`
	// Name is what the log-in button calls the provider. The default is defaultName too.
	Name string `env:"FLEETBOARD_OIDC_NAME" envDefault:"single sign-on"`
}

// load reads the secret's file, and returns what is wrong with the configuration.
func (c *OIDCConfig) load() error {
	if c.unset() {
		if c.Name != "" && c.Name != defaultName {
			return errors.New("FLEETBOARD_OIDC_NAME: needs FLEETBOARD_OIDC_ISSUER beside it")
		}
		return nil
	}
	return errors.Join(c.checkIssuer(), c.checkClient(), c.loadSecret(), c.checkName())
}

// unset reports whether at most the name is set.
func (c *OIDCConfig) unset() bool { return *c == OIDCConfig{Name: c.Name} }

func (c *OIDCConfig) checkIssuer() error {
	if c.Issuer == "" {
		return errors.New("FLEETBOARD_OIDC_ISSUER: the address of the identity provider is missing")
	}
	if err := oidc.CheckIssuer(c.Issuer); err != nil {
		return fmt.Errorf("FLEETBOARD_OIDC_ISSUER: %w", err)
	}
	return nil
}

func (c *OIDCConfig) checkClient() error {
	if c.ClientID == "" {
		return errors.New("FLEETBOARD_OIDC_CLIENT_ID: is missing; the provider gives it for this server")
	}
	return nil
}

func (c *OIDCConfig) loadSecret() error {
	switch {
	case c.ClientSecret != "" && c.ClientSecretPath != "":
		return errors.New("FLEETBOARD_OIDC_CLIENT_SECRET: set it or FLEETBOARD_OIDC_CLIENT_SECRET_FILE, not both")
	case c.ClientSecretPath != "":
		text, err := os.ReadFile(c.ClientSecretPath)
		if err != nil {
			return fmt.Errorf("FLEETBOARD_OIDC_CLIENT_SECRET_FILE: %w", err)
		}
		if c.ClientSecret = strings.TrimSpace(string(text)); c.ClientSecret == "" {
			return errors.New("FLEETBOARD_OIDC_CLIENT_SECRET_FILE: the file is empty")
		}
	case c.ClientSecret == "":
		return errors.New("FLEETBOARD_OIDC_CLIENT_SECRET: is missing; set it or FLEETBOARD_OIDC_CLIENT_SECRET_FILE")
	}
	return nil
}

func (c *OIDCConfig) checkName() error {
	n := utf8.RuneCountInString(c.Name)
	if n < 1 || n > maxNameLength || strings.TrimSpace(c.Name) != c.Name || strings.ContainsFunc(c.Name, unprintable) {
		return fmt.Errorf("FLEETBOARD_OIDC_NAME: must have 1 to %d characters, without spaces around them", maxNameLength)
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// Provider returns the identity provider; nil where none is configured. It sends
// browsers back to the callback below base, the address of this server.
func (c *OIDCConfig) Provider(base string) *oidc.Provider {
	if c.Issuer == "" {
		return nil
	}
	return oidc.NewProvider(oidc.Config{
		Issuer:       c.Issuer,
		ClientID:     c.ClientID,
		ClientSecret: c.ClientSecret,
		Name:         c.Name,
		RedirectURL:  strings.TrimSuffix(base, "/") + links.IdentityCallback,
	})
}
