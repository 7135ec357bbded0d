package app

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/fleetboard/fleetboard/db/vault"
)

// KeyConfig is what a change of the server's secret key needs.
type KeyConfig struct {
	// PreviousSecretKey is the key before the present one, in base64: what it encrypts is
	// encrypted anew at the start.
	PreviousSecretKey string `env:"FLEETBOARD_PREVIOUS_SECRET_KEY"`
	// PreviousSecretKeyPath is a file with the same.
	PreviousSecretKeyPath string `env:"FLEETBOARD_PREVIOUS_SECRET_KEY_FILE"`
	// LogMarksURL is where a GET reads and a PUT writes how far the logs were sealed; empty is a
	// file in DataDir.
	LogMarksURL string `env:"FLEETBOARD_LOG_MARKS_URL"`
}

const previousKeyVariable = "FLEETBOARD_PREVIOUS_SECRET_KEY"

func (c KeyConfig) check() error {
	return errors.Join(checkKey(previousKeyVariable, c.PreviousSecretKey, c.PreviousSecretKeyPath), c.checkLogMarks())
}

func (c KeyConfig) checkLogMarks() error {
	if u, err := url.Parse(c.LogMarksURL); c.LogMarksURL != "" &&
		(err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("FLEETBOARD_LOG_MARKS_URL: must be an address like https://marks.example.com/fleetboard")
	}
	return nil
}

// Previous returns the keys that the server had before the present one; none where its
// key was not changed.
func (c KeyConfig) Previous() ([][]byte, error) {
	key, err := readKey(previousKeyVariable, c.PreviousSecretKey, c.PreviousSecretKeyPath)
	if key == nil {
		return nil, err
	}
	return [][]byte{key}, nil
}

// keys returns the server's secret key and those before it.
func (c Config) keys() (key []byte, earlier [][]byte, err error) {
	if key, err = c.SecretKey(); err == nil {
		earlier, err = c.Keys.Previous()
	}
	return key, earlier, err
}

// checkKey returns what is wrong with a key that is the value of a variable, or else in the file
// that the variable with _FILE names.
func checkKey(variable, text, path string) error {
	if text == "" {
		return nil
	}
	if path != "" {
		return fmt.Errorf("%s: set it or %[1]s_FILE, not both", variable)
	}
	if _, err := decodeSecretKey(text); err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	return nil
}

// readKey reads such a key, nil where there is none.
func readKey(variable, text, path string) ([]byte, error) {
	switch {
	case text != "":
		return decodeSecretKey(text)
	case path == "":
		return nil, nil
	}
	key, err := readSecretKey(path)
	if err != nil {
		return nil, fmt.Errorf("%s_FILE: %w", variable, err)
	}
	return key, nil
}

// generatedKeyPath returns the file of the key that the server makes itself.
func (c Config) generatedKeyPath() string { return filepath.Join(c.DataDir, secretKeyFile) }

// makeSecretKey writes a new key to path, whole or not at all. A key that is
// there already stays.
func makeSecretKey(path string) error {
	// Open for passing through: the embedded server may run as another user.
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		return err
	}
	key := make([]byte, vault.KeySize)
	_, _ = rand.Read(key)                                                   // never fails
	temporary, err := os.CreateTemp(filepath.Dir(path), secretKeyFile+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, writeErr := fmt.Fprintln(temporary, base64.StdEncoding.EncodeToString(key))
	if err := errors.Join(writeErr, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	// A link, unlike a rename, does not replace what is there.
	if err := os.Link(temporary.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func readSecretKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the secret key: %w", err)
	}
	key, err := decodeSecretKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("the secret key in %s: %w", path, err)
	}
	return key, nil
}

func decodeSecretKey(text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != vault.KeySize {
		return nil, fmt.Errorf("must be %d bytes in base64, as `openssl rand -base64 %d` prints them", vault.KeySize, vault.KeySize)
	}
	return key, nil
}
