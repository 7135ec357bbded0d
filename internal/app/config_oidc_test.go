package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const oidcSecret = "a-secret-of-the-provider"

// oidcEnviron returns a whole configuration with some values changed; "-" takes one
// away.
func oidcEnviron(t *testing.T, changes map[string]string) map[string]string {
	t.Helper()
	environ := map[string]string{
		"FLEETBOARD_DATA_DIR":           t.TempDir(),
		"FLEETBOARD_OIDC_ISSUER":        "https://id.example.com/realm",
		"FLEETBOARD_OIDC_CLIENT_ID":     "fleetboard",
		"FLEETBOARD_OIDC_CLIENT_SECRET": oidcSecret,
		"FLEETBOARD_OIDC_NAME":          "Acme",
	}
	for name, value := range changes {
		if environ["FLEETBOARD_OIDC_"+name] = value; value == "-" {
			delete(environ, "FLEETBOARD_OIDC_"+name)
		}
	}
	return environ
}

func TestOIDCConfig(t *testing.T) {
	secretFile := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secretFile, []byte(oidcSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := map[string]string{"ISSUER": "-", "CLIENT_ID": "-", "CLIENT_SECRET": "-", "NAME": "-"}
	for name, one := range map[string]struct {
		changes  map[string]string
		provider string // its name, "" for none
	}{
		"whole":                      {nil, "Acme"},
		"none":                       {none, ""},
		"without a name":             {map[string]string{"NAME": "-"}, "single sign-on"},
		"the secret in a file":       {map[string]string{"CLIENT_SECRET": "-", "CLIENT_SECRET_FILE": secretFile}, "Acme"},
		"http on this machine":       {map[string]string{"ISSUER": "http://127.0.0.1:9998/"}, "Acme"},
		"http on this machine, IPv6": {map[string]string{"ISSUER": "http://[::1]:9998"}, "Acme"},
		"http on localhost":          {map[string]string{"ISSUER": "http://localhost:9998"}, "Acme"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := LoadConfig(oidcEnviron(t, one.changes))
			if err != nil {
				t.Fatal(err)
			}
			provider := c.OIDC.Provider("https://fleet.example.com/")
			switch {
			case one.provider == "" && provider != nil:
				t.Error("a provider out of nothing")
			case one.provider != "" && (provider == nil || provider.Name() != one.provider || provider.Issuer() != c.OIDC.Issuer):
				t.Errorf("provider %+v", provider)
			case one.provider != "" && c.OIDC.ClientSecret != oidcSecret:
				t.Error("the secret was not read")
			}
		})
	}
}

// Each mistake names its variable, and no message holds the secret.
func TestOIDCConfigRefused(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct {
		changes map[string]string
		names   string
	}{
		"no issuer":                  {map[string]string{"ISSUER": "-"}, "OIDC_ISSUER"},
		"no client":                  {map[string]string{"CLIENT_ID": "-"}, "OIDC_CLIENT_ID"},
		"no secret":                  {map[string]string{"CLIENT_SECRET": "-"}, "OIDC_CLIENT_SECRET"},
		"two secrets":                {map[string]string{"CLIENT_SECRET_FILE": empty}, "OIDC_CLIENT_SECRET"},
		"an empty secret file":       {map[string]string{"CLIENT_SECRET": "-", "CLIENT_SECRET_FILE": empty}, "OIDC_CLIENT_SECRET_FILE"},
		"a missing secret file":      {map[string]string{"CLIENT_SECRET": "-", "CLIENT_SECRET_FILE": empty + "-not"}, "OIDC_CLIENT_SECRET_FILE"},
		"http elsewhere":             {map[string]string{"ISSUER": "http://id.example.com"}, "OIDC_ISSUER"},
		"http on a name like ours":   {map[string]string{"ISSUER": "http://localhost.example.com"}, "OIDC_ISSUER"},
		"another scheme":             {map[string]string{"ISSUER": "ftp://127.0.0.1"}, "OIDC_ISSUER"},
		"no host":                    {map[string]string{"ISSUER": "id.example.com"}, "OIDC_ISSUER"},
		"a query":                    {map[string]string{"ISSUER": "https://id.example.com?a=b"}, "OIDC_ISSUER"},
		"a password in it":           {map[string]string{"ISSUER": "https://a:b@id.example.com"}, "OIDC_ISSUER"},
		"a name alone":               {map[string]string{"ISSUER": "-", "CLIENT_ID": "-", "CLIENT_SECRET": "-"}, "OIDC_NAME"},
		"a name that is too long":    {map[string]string{"NAME": strings.Repeat("n", 41)}, "OIDC_NAME"},
		"a name that cannot be seen": {map[string]string{"NAME": "Ac\u202eme"}, "OIDC_NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadConfig(oidcEnviron(t, one.changes))
			if err == nil || !strings.Contains(err.Error(), one.names) {
				t.Fatalf("error %v, want one about %s", err, one.names)
			}
			if strings.Contains(err.Error(), oidcSecret) {
				t.Errorf("the secret is in the message: %v", err)
			}
		})
	}
}
