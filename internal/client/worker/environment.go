package worker

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/redact"
)

// kept are the variables of the worker's environment that engines get, and those that
// begin with one of keptPrefixes. All else stays here: the worker's host may know secrets
// that are none of an agent's business.
var (
	kept = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "XDG_CONFIG_HOME",
		"XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "IS_SANDBOX", "DISABLE_AUTOUPDATER"}
	keptPrefixes = append(engines.Variables(), "LC_")
)

// environment is that of an engine: what is allowed, and what the attempt adds.
func environment(pass []string, more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(kept, name) || slices.Contains(pass, name) ||
			slices.ContainsFunc(keptPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			env = append(env, v)
		}
	}
	return append(env, more...)
}

// plainName is a secret's name that can be part of a variable's.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readSecrets returns the secrets of a job, as variables FLEETBOARD_SECRET_<NAME>, and what takes
// them, and the worker's own, out of all that is reported.
func readSecrets(j api.Job, own ...string) (env []string, r *redact.Redactor) {
	var values []json.RawMessage
	for _, secret := range own {
		raw, err := json.Marshal(secret)
		if err == nil { // it is a text
			values = append(values, raw)
		}
	}
	in := readInput(j)
	for _, name := range j.SecretKeys {
		raw := in[name]
		values = append(values, raw)
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		if plainName.MatchString(name) && !strings.ContainsRune(text, 0) {
			env = append(env, "FLEETBOARD_SECRET_"+strings.ToUpper(name)+"="+text)
		}
	}
	return env, redact.New(values...)
}
