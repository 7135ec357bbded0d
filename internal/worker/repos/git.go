package repos

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

const (
	// patience is how long a call of git may take.
	patience = 2 * time.Minute
	// clonePatience is how long the first fetch of a repository may take.
	clonePatience = time.Hour
)

// git runs git in a directory, without the repository's hooks, without questions, and
// without what the caller's environment says about repositories. It returns what was
// printed, without the last end of line.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return gitWith(ctx, dir, nil, args...)
}

func gitWith(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	return gitFor(ctx, patience, dir, env, args...)
}

// gitFor runs git for so long at most.
func gitFor(ctx context.Context, longest time.Duration, dir string, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	all := append(
		[]string{"-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
			"-c", "core.quotePath=false", "-c", "protocol.ext.allow=never"},
		args...)
	cmd := exec.CommandContext(ctx, "git", all...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(cleanEnvironment(), env...), 5*time.Second
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(complaints.String())
		if said == "" {
			said = strings.TrimSpace(out.String())
		}
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, withoutCredentials(said))
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// cleanEnvironment is the process's own without GIT_ variables, with which the caller may
// be in another repository.
func cleanEnvironment() []string {
	env := []string{"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "GIT_SSH") || name == "GIT_ASKPASS" {
			env = append(env, v)
		}
	}
	return env
}

// credentials are a name, or a name and a password, in an address.
var credentials = regexp.MustCompile(`([a-z][a-z0-9+.-]*://)[^/\s@]+@`)

// withoutCredentials is a text without those in its addresses.
func withoutCredentials(text string) string { return credentials.ReplaceAllString(text, "$1") }

// publicURL is an origin's address as others may see it: "" where it is a path of this
// host.
func publicURL(origin string) string {
	at, err := url.Parse(origin)
	if err == nil && at.Scheme != "" && at.Scheme != "file" {
		at.User = nil
		return at.String()
	}
	if strings.Contains(origin, "@") && strings.Contains(origin, ":") && !strings.HasPrefix(origin, "/") {
		return origin // git@host:team/name
	}
	return ""
}
