package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// configFile is below Env.ConfigDir. Only its owner reads it: it has tokens.
const configFile = "config.json"

// config is the file: the servers that this person has logged in to.
type config struct {
	// Current is the name of the context that commands use.
	Current  string                  `json:"current"`
	Contexts map[string]savedContext `json:"contexts"`
}

// savedContext is a server and who calls it.
type savedContext struct {
	Server string `json:"server"`
	Token  string `json:"token,omitempty"`
	// EnrolmentToken registers agents; `fleet worker` and `fleet job claim` need it.
	EnrolmentToken string `json:"enrolment_token,omitempty"`
}

// configPath is where the file is.
func (e Env) configPath() (string, error) {
	if e.ConfigDir == "" {
		return "", errors.New("there is no folder for the configuration: set HOME, or XDG_CONFIG_HOME")
	}
	return filepath.Join(e.ConfigDir, configFile), nil
}

// loadConfig reads the file; where there is none yet, nothing is in it.
func (e Env) loadConfig() (config, error) {
	empty := config{Contexts: map[string]savedContext{}}
	path, err := e.configPath()
	if err != nil {
		return empty, err
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, err
	}
	read := empty
	if err := json.Unmarshal(raw, &read); err != nil {
		return empty, fmt.Errorf("%s is not JSON as `fleet login` writes it; mend or remove it: %w", path, err)
	}
	if read.Contexts == nil {
		read.Contexts = empty.Contexts
	}
	return read, nil
}

func (e Env) saveConfig(cfg config) error {
	path, err := e.configPath()
	if err != nil {
		return err
	}
	return writePrivate(path, cfg)
}

// writePrivate replaces a file of JSON that only its owner may read, whole or not at all.
func writePrivate(path string, content any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone where it was renamed
	_, err = f.Write(append(raw, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
