package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/mail"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"github.com/caarlos0/env/v11"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
)

const (
	secretKeyVariable = "FLEETBOARD_SECRET_KEY"
	secretKeyFile     = "secret-key"
)

// Config is what the environment says. Every variable is read here and nowhere else.
type Config struct {
	// Listen is the address of the HTTP server, host:port.
	Listen string `env:"FLEETBOARD_LISTEN" envDefault:"127.0.0.1:8080"`
	// PublicURL is where people reach the server, https://fleet.example.com;
	// empty is http on Listen. With https, cookies are bound to it.
	PublicURL string `env:"FLEETBOARD_PUBLIC_URL"`
	// DatabaseURL is the owner's login, on one host or on several of which one leads; empty
	// starts an embedded server in DataDir.
	DatabaseURL string `env:"DATABASE_URL"`
	// AppDatabaseURL is the login of the application's queries, where a pooler
	// stands between; empty uses DatabaseURL with the rights of fleetboard_app.
	AppDatabaseURL string `env:"FLEETBOARD_APP_DATABASE_URL"`
	// DataDir holds the secret key, the first tokens and the embedded database.
	DataDir string `env:"FLEETBOARD_DATA_DIR"`
	// SecretKeyText is the secret key in base64; see SecretKey.
	SecretKeyText string `env:"FLEETBOARD_SECRET_KEY"`
	// SecretKeyPath is a file with the same.
	SecretKeyPath string `env:"FLEETBOARD_SECRET_KEY_FILE"`
	// AdminEmail and AdminPassword make the first owner; both or neither.
	AdminEmail    string `env:"FLEETBOARD_ADMIN_EMAIL"`
	AdminPassword string `env:"FLEETBOARD_ADMIN_PASSWORD"`

	// HashCost is the cost of a new password hash, the default where it is zero. No variable
	// sets it: it is for tests.
	HashCost passwords.Cost `env:"-"`

	OIDC      OIDCConfig
	Network   NetworkConfig
	Keys      KeyConfig
	Blobs     BlobConfig
	Transport TransportConfig
	Backup    BackupConfig
	Webhooks  WebhookConfig
	Mail      MailConfig
}

// LoadConfig reads the configuration out of an environment. The error names
// each variable that is wrong and what it needs, and never a secret.
func LoadConfig(environ map[string]string) (Config, error) {
	var c Config
	// The checks are of what these two have set.
	readErr := readableErrors(env.ParseWithOptions(&c, env.Options{Environment: environ}))
	dirErr := c.setDataDir(environ)
	err := errors.Join(
		readErr,
		dirErr,
		checkAddress("FLEETBOARD_LISTEN", c.Listen),
		c.checkPublicURL(),
		c.checkDatabase(),
		checkKey(secretKeyVariable, c.SecretKeyText, c.SecretKeyPath),
		c.checkAdmin(),
		c.OIDC.load(),
		c.Network.check(),
		c.Keys.check(),
		c.Blobs.check(),
		c.Transport.check(),
		c.Backup.check(),
		c.Webhooks.check(),
		c.Mail.check(),
	)
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

// setDataDir makes DataDir absolute. Its default is $XDG_DATA_HOME/fleetboard, else
// ~/.local/share/fleetboard.
func (c *Config) setDataDir(environ map[string]string) error {
	if c.DataDir == "" {
		base := environ["XDG_DATA_HOME"]
		switch {
		case filepath.IsAbs(base):
		case environ["HOME"] != "":
			base = filepath.Join(environ["HOME"], ".local", "share")
		default:
			return errors.New("FLEETBOARD_DATA_DIR: set it to a directory, since HOME is not set")
		}
		c.DataDir = filepath.Join(base, "fleetboard")
	}
	dir, err := filepath.Abs(c.DataDir)
	if err != nil {
		return fmt.Errorf("FLEETBOARD_DATA_DIR: %w", err)
	}
	c.DataDir = dir
	return nil
}

// checkAddress returns what is wrong with an address to listen on.
func checkAddress(variable, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s: must be an address like 127.0.0.1:8080 or :8080", variable)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%s: its port must be a number from 0 to 65535", variable)
	}
	return nil
}

func (c *Config) checkDatabase() error {
	var errs []error
	for _, v := range []struct{ name, value string }{
		{"DATABASE_URL", c.DatabaseURL}, {"FLEETBOARD_APP_DATABASE_URL", c.AppDatabaseURL},
	} {
		if v.value == "" {
			continue
		}
		if err := db.CheckAddress(v.value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", v.name, err))
		}
	}
	if c.AppDatabaseURL != "" && c.DatabaseURL == "" {
		errs = append(errs, errors.New("FLEETBOARD_APP_DATABASE_URL: needs DATABASE_URL, the owner's login, beside it"))
	}
	return errors.Join(errs...)
}

func (c *Config) checkAdmin() error {
	var errs []error
	if (c.AdminEmail == "") != (c.AdminPassword == "") {
		errs = append(errs, errors.New("FLEETBOARD_ADMIN_EMAIL and FLEETBOARD_ADMIN_PASSWORD: set both or neither"))
	}
	if c.AdminEmail != "" {
		if a, err := mail.ParseAddress(c.AdminEmail); err != nil || a.Address != c.AdminEmail {
			errs = append(errs, errors.New("FLEETBOARD_ADMIN_EMAIL: must be an email address"))
		}
	}
	if c.AdminPassword != "" && utf8.RuneCountInString(c.AdminPassword) < passwords.MinLength {
		errs = append(errs, fmt.Errorf("FLEETBOARD_ADMIN_PASSWORD: must have at least %d characters", passwords.MinLength))
	}
	return errors.Join(errs...)
}

// SecretKey returns the key from which all others are derived. It comes from the environment,
// else from the file that the environment names, else from secret-key in the data directory,
// which is made on the first start with mode 0600.
func (c Config) SecretKey() ([]byte, error) {
	if key, err := readKey(secretKeyVariable, c.SecretKeyText, c.SecretKeyPath); key != nil || err != nil {
		return key, err
	}
	path := c.generatedKeyPath()
	key, err := readSecretKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeSecretKey(path); err == nil {
			// Another process may have made the file first.
			key, err = readSecretKey(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("FLEETBOARD_DATA_DIR: the secret key in it: %w", err)
	}
	return key, nil
}
