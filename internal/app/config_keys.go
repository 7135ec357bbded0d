package app

import (
	"errors"
	"fmt"
	"net/url"
)

// KeyConfig is about changing the server's secret key.
type KeyConfig struct {
	// PreviousSecretKey is the key before the present one, in base64: what it
	// wraps is wrapped anew at the start.
	PreviousSecretKey string `env:"FLEETBOARD_PREVIOUS_SECRET_KEY"`
	// PreviousSecretKeyPath is a file with the same.
	PreviousSecretKeyPath string `env:"FLEETBOARD_PREVIOUS_SECRET_KEY_FILE"`
	// LogMarksURL is where a GET reads and a PUT writes how far the logs were sealed;
	// empty keeps that in DataDir.
	LogMarksURL string `env:"FLEETBOARD_LOG_MARKS_URL"`
}

func (c KeyConfig) check() error { return errors.Join(c.checkPrevious(), c.checkLogMarks()) }

func (c KeyConfig) checkLogMarks() error {
	if u, err := url.Parse(c.LogMarksURL); c.LogMarksURL != "" &&
		(err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("FLEETBOARD_LOG_MARKS_URL: must be an address like https://marks.example.com/fleetboard")
	}
	return nil
}

func (c KeyConfig) checkPrevious() error {
	if c.PreviousSecretKey == "" {
		return nil
	}
	if c.PreviousSecretKeyPath != "" {
		return errors.New("FLEETBOARD_PREVIOUS_SECRET_KEY: set it or FLEETBOARD_PREVIOUS_SECRET_KEY_FILE, not both")
	}
	if _, err := decodeSecretKey([]byte(c.PreviousSecretKey)); err != nil {
		return fmt.Errorf("FLEETBOARD_PREVIOUS_SECRET_KEY: %w", err)
	}
	return nil
}

// Previous are the keys of 32 bytes that the server had before the present one;
// none where its key was not changed.
func (c KeyConfig) Previous() ([][]byte, error) {
	var key []byte
	var err error
	switch {
	case c.PreviousSecretKey != "":
		key, err = decodeSecretKey([]byte(c.PreviousSecretKey))
	case c.PreviousSecretKeyPath != "":
		if key, err = readSecretKey(c.PreviousSecretKeyPath); err != nil {
			err = fmt.Errorf("FLEETBOARD_PREVIOUS_SECRET_KEY_FILE: %w", err)
		}
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return [][]byte{key}, nil
}
