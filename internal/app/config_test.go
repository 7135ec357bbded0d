package app

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfigDefaults(t *testing.T) {
	for _, c := range []struct {
		environ map[string]string
		want    string
	}{
		{map[string]string{"HOME": "/home/ada"}, "/home/ada/.local/share/fleetboard"},
		{map[string]string{"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}, "/data/fleetboard"},
		{map[string]string{"HOME": "/home/ada", "XDG_DATA_HOME": "relative"}, "/home/ada/.local/share/fleetboard"},
		{map[string]string{"HOME": "/home/ada", "FLEETBOARD_DATA_DIR": "/srv/fb"}, "/srv/fb"},
	} {
		got, err := LoadConfig(c.environ)
		if diff := cmp.Diff(Config{Listen: "127.0.0.1:8080", DataDir: c.want, OIDC: OIDCConfig{Name: "single sign-on"}, Network: NetworkConfig{RateLimit: 200}, Blobs: BlobConfig{MaxMB: 64, TotalMB: 5120}, Transport: TransportConfig{Name: "listen"}, Backup: BackupConfig{Hours: 24, Keep: 7}}, got); err != nil || diff != "" {
			t.Errorf("%v: %v (-want +got):\n%s", c.environ, err, diff)
		}
	}
}

// Errors find the variable of a number by the name of its field alone.
func TestFieldsOfNumbersHaveUniqueNames(t *testing.T) {
	seen := map[string]bool{}
	var walk func(part reflect.Type)
	walk = func(part reflect.Type) {
		for f := range part.Fields() {
			switch {
			case f.Type.Kind() == reflect.Struct && f.Tag.Get("env") == "":
				walk(f.Type)
			case f.Type.Kind() != reflect.String && f.Tag.Get("env") != "-":
				if seen[f.Name] {
					t.Errorf("two fields are called %s", f.Name)
				}
				seen[f.Name] = true
			}
		}
	}
	walk(reflect.TypeFor[Config]())
	if len(seen) < 3 {
		t.Errorf("only %v were found", seen)
	}
}

func TestConfigReadsEveryVariable(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(make([]byte, 32))
	got, err := LoadConfig(map[string]string{
		"FLEETBOARD_LISTEN": ":9000", "FLEETBOARD_DATA_DIR": "/srv/fb",
		"DATABASE_URL": "postgres://owner@db/fb", "FLEETBOARD_APP_DATABASE_URL": "postgresql://app@pooler/fb",
		"FLEETBOARD_SECRET_KEY": key, "FLEETBOARD_METRICS_LISTEN": ":9090",
		"FLEETBOARD_ADMIN_EMAIL": "ada@example.com", "FLEETBOARD_ADMIN_PASSWORD": "quite long enough",
		"FLEETBOARD_BLOBS_URL": "s3://bucket?region=eu-1", "FLEETBOARD_BLOB_MAX": "10", "FLEETBOARD_BLOBS_TOTAL": "100",
		"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK",
		"FLEETBOARD_TRANSPORT": "nats", "FLEETBOARD_NATS_URL": "tls://one:4222,tls://two:4222",
		"FLEETBOARD_BACKUP_URL": "/backup", "FLEETBOARD_BACKUP_HOURS": "6", "FLEETBOARD_BACKUP_KEEP": "28",
		"FLEETBOARD_BACKUP_PASSPHRASE_FILE": "/passphrase", "FLEETBOARD_BACKUP_DATABASE_URL": "postgres://reader@db/fb",
	})
	want := Config{Listen: ":9000", DatabaseURL: "postgres://owner@db/fb", AppDatabaseURL: "postgresql://app@pooler/fb",
		DataDir: "/srv/fb", SecretKeyText: key, AdminEmail: "ada@example.com", AdminPassword: "quite long enough",
		OIDC: OIDCConfig{Name: "single sign-on"}, Network: NetworkConfig{RateLimit: 200, MetricsListen: ":9090"},
		Blobs:     BlobConfig{URL: "s3://bucket?region=eu-1", MaxMB: 10, TotalMB: 100, AccessKey: "AK", SecretKey: "SK"},
		Transport: TransportConfig{Name: "nats", NATSURL: "tls://one:4222,tls://two:4222"},
		Backup:    BackupConfig{URL: "/backup", Hours: 6, Keep: 28, PassphrasePath: "/passphrase", DatabaseURL: "postgres://reader@db/fb"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// The database may have several hosts, of which one leads.
func TestADatabaseMayHaveSeveralHosts(t *testing.T) {
	for _, address := range []string{
		"postgres://u:p@one:5432,two:5433/fb?target_session_attrs=primary", "postgres://u:p%40x@one,two,three/fb?target_session_attrs=read-write",
		"postgres://u@[::1]:5432,[::2]:5432/fb", "postgres://u@/fb?host=one,two&port=5432,5433", "postgres://u@one/fb?target_session_attrs=any",
	} {
		if _, err := LoadConfig(map[string]string{"HOME": "/h", "DATABASE_URL": address, "FLEETBOARD_APP_DATABASE_URL": address}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Each wrong value is refused by its variable's name, and secrets stay secret.
func TestConfigNamesTheVariable(t *testing.T) {
	const secret = "hunter2"
	for _, c := range []struct{ variable, value, and string }{
		{"FLEETBOARD_LISTEN", "8080", ""},
		{"FLEETBOARD_LISTEN", "localhost:http", ""},
		{"FLEETBOARD_LISTEN", ":70000", ""},
		{"FLEETBOARD_METRICS_LISTEN", "9090", ""},
		{"FLEETBOARD_KEDA_LISTEN", "9091", ""},
		{"FLEETBOARD_METRICS_LISTEN", "localhost:metrics", ""},
		{"DATABASE_URL", "mysql://u:" + secret + "@h/d", ""},
		{"DATABASE_URL", "postgres://u:" + secret + "@h:%zz/d", ""},
		{"DATABASE_URL", "postgres://u:" + secret + "@one:5432,two:%zz/d", ""},
		{"DATABASE_URL", "postgres://u:" + secret + "@one,two/d?target_session_attrs=any", ""},
		{"DATABASE_URL", "postgres://u:" + secret + "@one,two/d?target_session_attrs=prefer-standby", ""},
		{"DATABASE_URL", "postgres://u:" + secret + "@one/d?target_session_attrs=standby", ""},
		{"FLEETBOARD_APP_DATABASE_URL", "postgres://app:" + secret + "@h/d", ""},
		{"FLEETBOARD_SECRET_KEY", secret, ""},
		{"FLEETBOARD_SECRET_KEY", "x", "FLEETBOARD_SECRET_KEY_FILE"},
		{"FLEETBOARD_PUBLIC_URL", "fleet.example.com", ""},
		{"FLEETBOARD_PUBLIC_URL", "https://fleet.example.com/board", ""},
		{"FLEETBOARD_RATE_LIMIT", secret, ""},
		{"FLEETBOARD_PREVIOUS_SECRET_KEY", secret, ""},
		{"FLEETBOARD_OIDC_ISSUER", secret, ""},
		{"FLEETBOARD_OIDC_NAME", "Acme", ""},
		{"FLEETBOARD_BLOB_MAX", "0", ""},
		{"FLEETBOARD_BLOBS_TOTAL", "10", ""},
		{"FLEETBOARD_BLOBS_URL", "s3://key:" + secret + "@bucket", ""},
		{"FLEETBOARD_TRANSPORT", "redis", ""},
		{"FLEETBOARD_NATS_URL", "nats://fleet:" + secret + "@h:4222", ""},
		{"FLEETBOARD_NATS_CREDS", "/" + secret[:3] + "/none", ""},
		{"FLEETBOARD_NATS_SIGNING_KEY", "/none", ""},
		{"FLEETBOARD_ADMIN_EMAIL", "ada@example.com", ""},
		{"FLEETBOARD_ADMIN_PASSWORD", secret + secret, ""},
		{"FLEETBOARD_ADMIN_EMAIL", "ada", "FLEETBOARD_ADMIN_PASSWORD"},
		{"FLEETBOARD_ADMIN_PASSWORD", secret, "FLEETBOARD_ADMIN_EMAIL"},
	} {
		environ := map[string]string{"HOME": "/home/ada", c.variable: c.value}
		if c.and != "" {
			environ[c.and] = "also set"
		}
		_, err := LoadConfig(environ)
		if err == nil || !strings.Contains(err.Error(), c.variable) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s=%s: %v", c.variable, c.value, err)
		}
	}
	for _, c := range []struct{ url, creds, want string }{
		{"", "", "FLEETBOARD_NATS_URL"}, {"http://h:4222", "", "FLEETBOARD_NATS_URL"}, {"nats://u:" + secret + "@h:%zz", "", "FLEETBOARD_NATS_URL"},
		{"nats://h:4222,", "", "FLEETBOARD_NATS_URL"}, {"nats://h:4222", "/no/file", "FLEETBOARD_NATS_CREDS"}, {"embedded", "/etc/passwd", "FLEETBOARD_NATS_CREDS"},
	} {
		_, err := LoadConfig(map[string]string{"HOME": "/h", "FLEETBOARD_TRANSPORT": "nats", "FLEETBOARD_NATS_URL": c.url, "FLEETBOARD_NATS_CREDS": c.creds})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s, %s: %v", c.url, c.creds, err)
		}
	}
	_, err := LoadConfig(map[string]string{"HOME": "/h", "FLEETBOARD_TRANSPORT": "nats", "FLEETBOARD_NATS_URL": "nats://h:4222",
		"FLEETBOARD_NATS_SIGNING_KEY": "/etc/passwd"})
	if err == nil || !strings.Contains(err.Error(), "FLEETBOARD_NATS_CREDS") {
		t.Errorf("a key that signs for no account: %v", err)
	}
	if _, err := LoadConfig(map[string]string{}); err == nil || !strings.Contains(err.Error(), "FLEETBOARD_DATA_DIR") {
		t.Errorf("without HOME: %v", err)
	}
	_, err = LoadConfig(map[string]string{"HOME": "/h", "FLEETBOARD_LISTEN": "x", "DATABASE_URL": "x", "FLEETBOARD_RATE_LIMIT": "x"})
	for _, variable := range []string{"FLEETBOARD_LISTEN: ", "DATABASE_URL: ", "FLEETBOARD_RATE_LIMIT: "} {
		if err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("three errors at once: %v", err)
		}
	}
	// What is set to nothing is not set.
	if c, err := LoadConfig(map[string]string{"HOME": "/h", "FLEETBOARD_RATE_LIMIT": ""}); err != nil || c.Network.RateLimit != 200 {
		t.Errorf("an empty variable: %+v, %v", c.Network, err)
	}
}

// A value that does not fit its field is reported by its variable, for each field
// there is that takes no text.
func TestEveryNumberIsToldByItsVariable(t *testing.T) {
	var check func(reflect.Type)
	checked := 0
	check = func(of reflect.Type) {
		for f := range of.Fields() {
			switch variable := f.Tag.Get("env"); {
			case variable == "-":
			case f.Type.Kind() == reflect.Struct:
				check(f.Type)
			case f.Type.Kind() != reflect.String && f.Type.Kind() != reflect.Slice:
				checked++
				_, err := LoadConfig(map[string]string{"HOME": "/h", variable: "hunter2"})
				if err == nil || !strings.HasPrefix(err.Error(), variable+": must be") || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%s: %v", variable, err)
				}
			}
		}
	}
	check(reflect.TypeFor[Config]())
	if checked == 0 {
		t.Error("no field was checked")
	}
}

func TestTheSecretKeyIsMadeOnceAndStays(t *testing.T) {
	c := Config{DataDir: filepath.Join(t.TempDir(), "new", "data")}
	keys := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = c.SecretKey(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if len(k) != 32 || !bytes.Equal(k, keys[0]) {
			t.Fatalf("several processes made several keys: %x", keys)
		}
	}
	if bytes.Equal(keys[0], make([]byte, 32)) {
		t.Error("the key is empty")
	}
	info, err := os.Stat(filepath.Join(c.DataDir, "secret-key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v (%v), want 0600", info.Mode(), err)
	}
	if left, err := os.ReadDir(c.DataDir); err != nil || len(left) != 1 {
		t.Errorf("files were left: %v (%v)", left, err)
	}
	text, err := os.ReadFile(filepath.Join(c.DataDir, "secret-key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, same := range []Config{{SecretKeyText: string(text)}, {SecretKeyPath: filepath.Join(c.DataDir, "secret-key")}} {
		if k, err := same.SecretKey(); err != nil || !bytes.Equal(k, keys[0]) {
			t.Errorf("%+v: another key (%v)", same, err)
		}
	}
}

func TestADamagedSecretKeyIsToldAndKept(t *testing.T) {
	c := Config{DataDir: t.TempDir()}
	path := filepath.Join(c.DataDir, "secret-key")
	if err := os.WriteFile(path, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SecretKey(); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "FLEETBOARD_DATA_DIR") {
		t.Errorf("got %v, want an error that names %s", err, path)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "short\n" {
		t.Errorf("the file became %q (%v)", text, err)
	}
	c.SecretKeyPath = filepath.Join(c.DataDir, "none")
	if _, err := c.SecretKey(); err == nil || !strings.Contains(err.Error(), "FLEETBOARD_SECRET_KEY_FILE") {
		t.Errorf("a file that is not there: %v", err)
	}
}
