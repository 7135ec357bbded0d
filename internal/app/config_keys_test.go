package app

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/vault"
)

func TestThePreviousSecretKey(t *testing.T) {
	key := bytes.Repeat([]byte{9}, vault.KeySize)
	text := base64.StdEncoding.EncodeToString(key)
	file := filepath.Join(t.TempDir(), "previous")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		environ map[string]string
		want    int    // keys
		wrong   string // in the error
	}{
		"none":      {map[string]string{}, 0, ""},
		"a value":   {map[string]string{"FLEETBOARD_PREVIOUS_SECRET_KEY": text}, 1, ""},
		"a file":    {map[string]string{"FLEETBOARD_PREVIOUS_SECRET_KEY_FILE": file}, 1, ""},
		"both":      {map[string]string{"FLEETBOARD_PREVIOUS_SECRET_KEY": text, "FLEETBOARD_PREVIOUS_SECRET_KEY_FILE": file}, 0, "not both"},
		"too short": {map[string]string{"FLEETBOARD_PREVIOUS_SECRET_KEY": "aGVsbG8gd29ybGQ="}, 0, "must be 32 bytes in base64"},
		"no file":   {map[string]string{"FLEETBOARD_PREVIOUS_SECRET_KEY_FILE": file + "-not"}, 0, "FLEETBOARD_PREVIOUS_SECRET_KEY_FILE"},
	} {
		c.environ["HOME"] = t.TempDir()
		cfg, err := LoadConfig(c.environ)
		var keys [][]byte
		if err == nil {
			keys, err = cfg.Keys.Previous()
		}
		switch {
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v; want an error with %q", what, err, c.wrong)
		case c.wrong != "" && strings.Contains(err.Error(), "aGVsbG8"):
			t.Errorf("%s: the error tells the key: %v", what, err)
		case c.wrong == "" && (err != nil || len(keys) != c.want || c.want == 1 && !bytes.Equal(keys[0], key)):
			t.Errorf("%s: %d keys, %v; want %d", what, len(keys), err, c.want)
		}
	}
}
