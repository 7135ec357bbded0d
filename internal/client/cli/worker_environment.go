package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/client/engines"
)

// environmentFile is below Env.ConfigDir, for its owner alone: services are started with none of
// the variables of a shell, and some of them are tokens.
const environmentFile = "worker.env"

// serviceNames are the variables that a worker and the agents on its host read; those that begin
// with one of servicePrefixes are others. Of the tokens a person's own is none of a worker's.
var (
	serviceNames = []string{"FLEETBOARD_URL", "FLEETBOARD_ENROLMENT_TOKEN", "FLEETBOARD_ENROLMENT_TOKEN_FILE", "FLEETBOARD_ISSUER",
		"FLEETBOARD_ID_TOKEN_FILE", "GITHUB_TOKEN",
		"GITEA_TOKEN", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
		"http_proxy", "https_proxy", "no_proxy", "IS_SANDBOX", "DISABLE_AUTOUPDATER"}
	servicePrefixes = engines.Variables()
)

// serviceEnvironment returns the variables that a service needs of this shell, with those that its
// flags pass on, sorted.
func (e Env) serviceEnvironment(flags []string) []string {
	if e.Environ == nil {
		return nil
	}
	passed := passedNames(flags)
	var found []string
	for _, variable := range e.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		wanted := slices.Contains(serviceNames, name) || slices.Contains(passed, name) ||
			slices.ContainsFunc(servicePrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		if wanted && value != "" {
			found = append(found, variable)
		}
	}
	slices.Sort(found)
	return found
}

// passedNames returns the values of --pass.
func passedNames(flags []string) (names []string) {
	for i, flag := range flags {
		if name, ok := strings.CutPrefix(flag, "--pass="); ok {
			names = append(names, name)
		} else if flag == "--pass" && i+1 < len(flags) {
			names = append(names, flags[i+1])
		}
	}
	return names
}

// environmentText returns the file: both systemd and a shell read it.
func environmentText(variables []string) string {
	text := "# The variables of the worker's service. Add those that agent programs need, and restart it.\n" +
		"# Only you may read this file: keep it so.\n"
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		text += name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(value) + "\"\n"
	}
	return text
}

// writeEnvironment writes the file, if there is none yet; it reports whether it did. One that is
// there is a person's, and is only closed to others.
func writeEnvironment(path string, variables []string) (bool, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, os.Chmod(path, 0o600)
	}
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(environmentText(variables))
	return true, errors.Join(err, f.Close())
}

// listNames lists the names of variables.
func listNames(variables []string) []string {
	names := make([]string, 0, len(variables))
	for _, variable := range variables {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	return names
}

// ownTokens are variables with tokens of the worker's, which no agent is to read.
var ownTokens = []string{"FLEETBOARD_ENROLMENT_TOKEN", "FLEETBOARD_TOKEN", "GITHUB_TOKEN", "GITEA_TOKEN"}

// conceal takes the worker's tokens out of its environment, but for those that agents are to
// have, and keeps other processes of the user from reading its memory and what it was started
// with.
func conceal(passed []string) error {
	for _, name := range ownTokens {
		if slices.Contains(passed, name) {
			continue
		}
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return closeMemory()
}
