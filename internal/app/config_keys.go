package app

import (
	"errors"
	"fmt"
)

// KeyConfig is about changing the server's secret key.
type KeyConfig struct {
	// PreviousSecretKey is the key before the present one, in base64: what it
	// wraps is wrapped anew at the start.
	PreviousSecretKey string `env:"FLEETBOARD_PREVIOUS_SECRET_KEY"`
	// PreviousSecretKeyPath is a file with the same.
	PreviousSecretKeyPath string `env:"FLEETBOARD_PREVIOUS_SECRET_KEY_FILE"`
}

func (c KeyConfig) check() error {
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
